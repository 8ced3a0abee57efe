"""The envelope: which of many lines is lowest at the current price, maintained instead of searched for.

Every arm is a line in the price: score(price) = cost − price·success. The lines, sorted by slope, lie in buckets of
BUCKET; over the buckets stands a tournament tree, which keeps at each node the winner of its subtree and the interval of
prices on which that winner is certain.

Everything lies in one flat sequence of floats, `tree`. Node v starts at `WIDTH·v`, its children are 2v and 2v+1,
and the leaves are v = size .. 2·size − 1, one per bucket. The buckets follow the nodes, each with its costs, its
successes and its arm numbers. (Why buckets: they replace the lowest levels of the tree, which are most of its memory.)
The functions take a list as well as an array: they run as they are, or compiled by `kernels.compiler.compiled`.

Invariants (`check_tree` in tests/support/tables.py tests them):

1. Every arm's line is in one place of one bucket; a place without an arm holds a line that never wins.
2. Inside [LOW, HIGH] of a node the winner of its subtree, by the same expression as in a plain scan and with ties to
   the smaller arm number, is the arm and the line that the node holds.
3. LEAST and MOST are the extreme slopes (successes) in the subtree.

Intervals only decide which scores need no comparison: a winner is always chosen by comparing scores like a plain scan.
"""

from collections.abc import MutableSequence

Tree = MutableSequence[float]
COST, SUCCESS, LOW, HIGH, LEAST, MOST, ARM = range(7)
WIDTH = 8  # floats per node: a cache line
BUCKET = 8  # lines per bucket: their costs fill a cache line, their successes another

INFINITY = float("inf")


def leaf_count(arms: int) -> int:
    """How many leaves a tree over these arms has: the least power of two with buckets for all."""
    size = 1
    while size * BUCKET < arms:
        size *= 2
    return size


def tree_size(size: int) -> int:
    """How many cells a tree with this number of leaves takes."""
    return 2 * WIDTH * size + 3 * BUCKET * size


def bucket_of(size: int, leaf: int) -> int:
    """Where the lines of a leaf lie."""
    return 2 * WIDTH * size + 3 * BUCKET * (leaf - size)


def set_line(tree: Tree, size: int, place: int, cost: float, success: float, arm: float) -> None:
    """Put a line in its place; the caller settles the leaf."""
    at = bucket_of(size, size + place // BUCKET) + place % BUCKET
    tree[at] = cost
    tree[at + BUCKET] = success
    tree[at + 2 * BUCKET] = arm


def settle_leaf(tree: Tree, size: int, leaf: int, price: float, margin: float) -> None:
    """Find the winner of a bucket at this price, and where it is certain."""
    first = bucket_of(size, leaf)
    winner, best = first, tree[first] - price * tree[first + BUCKET]
    least = most = tree[first + BUCKET]
    for at in range(first + 1, first + BUCKET):
        score = tree[at] - price * tree[at + BUCKET]
        if score < best or (score == best and tree[at + 2 * BUCKET] < tree[winner + 2 * BUCKET]):
            winner, best = at, score
        least = min(least, tree[at + BUCKET])
        most = max(most, tree[at + BUCKET])
    cost, success = tree[winner], tree[winner + BUCKET]
    low, high = -INFINITY, INFINITY
    for at in range(first, first + BUCKET):
        if at != winner:
            low, high = cut(cost, success, tree[at], tree[at + BUCKET], low, high, price, margin)
    node = WIDTH * leaf
    tree[node + COST] = cost
    tree[node + SUCCESS] = success
    tree[node + LOW] = low
    tree[node + HIGH] = high
    tree[node + LEAST] = least
    tree[node + MOST] = most
    tree[node + ARM] = tree[winner + 2 * BUCKET]


def cut(
    cost: float,
    success: float,
    other_cost: float,
    other_success: float,
    low: float,
    high: float,
    price: float,
    margin: float,
) -> tuple[float, float]:
    """Narrow [low, high] to where the first line is surely below the second, which it is at this price.

    The crossing is moved inwards by a margin that exceeds the rounding of scores. Lines of equal slope never cross, but
    if their costs differ by rounding alone their scores may tie: then the result is certain at this price only.
    """
    rise = other_success - success
    gap = other_cost - cost
    if rise > 0.0:
        high = min(high, (gap - margin) / rise)
    elif rise < 0.0:
        low = max(low, (gap - margin) / rise)
    elif gap != 0.0 and gap <= margin:
        return price, price
    if price < low or price > high:
        return price, price
    return low, high


def combine(tree: Tree, node: int, left: int, right: int, price: float, margin: float) -> None:
    """Compare two children that are certain at this price; the parent gets the winner and where it is certain."""
    a = tree[left + COST] - price * tree[left + SUCCESS]
    b = tree[right + COST] - price * tree[right + SUCCESS]
    first = a < b or (a == b and tree[left + ARM] < tree[right + ARM])
    winner, loser = (left, right) if first else (right, left)
    low = max(tree[left + LOW], tree[right + LOW])
    high = min(tree[left + HIGH], tree[right + HIGH])
    cost, success = tree[winner + COST], tree[winner + SUCCESS]
    low, high = cut(cost, success, tree[loser + COST], tree[loser + SUCCESS], low, high, price, margin)
    tree[node + COST] = cost
    tree[node + SUCCESS] = success
    tree[node + LOW] = low
    tree[node + HIGH] = high
    tree[node + ARM] = tree[winner + ARM]


def wins_unseen(tree: Tree, node: int, known: int, unsure: int, price: float, margin: float) -> bool:
    """Try to settle a node without a visit to an unsure child: True if the known child wins anyway.

    A subtree's minimum is concave in the price. Beyond its certain interval it lies above the line through its last
    certain value with the subtree's extreme slope. If even that line loses, so does the subtree.
    """
    if price > tree[unsure + HIGH]:
        edge, success = tree[unsure + HIGH], tree[unsure + MOST]
    else:
        edge, success = tree[unsure + LOW], tree[unsure + LEAST]
    cost = tree[unsure + COST] - edge * tree[unsure + SUCCESS] + edge * success
    if not tree[known + COST] - price * tree[known + SUCCESS] < cost - price * success - margin:
        return False
    low, high = tree[known + LOW], tree[known + HIGH]
    if price > tree[unsure + HIGH]:
        low = max(low, edge)
    else:
        high = min(high, edge)
    low, high = cut(tree[known + COST], tree[known + SUCCESS], cost, success, low, high, price, margin)
    tree[node + COST] = tree[known + COST]
    tree[node + SUCCESS] = tree[known + SUCCESS]
    tree[node + LOW] = low
    tree[node + HIGH] = high
    tree[node + ARM] = tree[known + ARM]
    return True


def certain(tree: Tree, node: int, price: float) -> bool:
    return bool(tree[node + LOW] <= price <= tree[node + HIGH])


def repair(tree: Tree, size: int, v: int, price: float, margin: float) -> None:
    """Make node v certain at this price, with visits to as few descendants as possible.

    Goes down to an unsure child that may win, and back up when it is sure. (No recursion: Numba cannot cache it.)
    """
    u = v
    while True:
        node = WIDTH * u
        if not certain(tree, node, price) and u >= size:
            settle_leaf(tree, size, u, price, margin)
        elif not certain(tree, node, price):
            left = WIDTH * (2 * u)
            right = left + WIDTH
            sure_left, sure_right = certain(tree, left, price), certain(tree, right, price)
            if sure_left and sure_right:
                combine(tree, node, left, right, price, margin)
            elif sure_left:
                if not wins_unseen(tree, node, left, right, price, margin):
                    u = 2 * u + 1
                    continue
            elif not sure_right or not wins_unseen(tree, node, right, left, price, margin):
                u = 2 * u
                continue
        if u == v:
            return
        u = u // 2


def update(tree: Tree, size: int, place: int, cost: float, success: float, price: float, margin: float) -> None:
    """Change the line at this place, and walk up to the root, settling each node at this price."""
    v = size + place // BUCKET
    at = bucket_of(size, v) + place % BUCKET
    tree[at] = cost
    tree[at + BUCKET] = success
    settle_leaf(tree, size, v, price, margin)
    while v > 1:
        sibling = WIDTH * (v ^ 1)
        child = WIDTH * v
        v = v // 2
        node = WIDTH * v
        tree[node + LEAST] = min(tree[child + LEAST], tree[sibling + LEAST])
        tree[node + MOST] = max(tree[child + MOST], tree[sibling + MOST])
        if not certain(tree, sibling, price):
            if wins_unseen(tree, node, child, sibling, price, margin):
                continue
            repair(tree, size, sibling // WIDTH, price, margin)
        combine(tree, node, child, sibling, price, margin)


def lowest(tree: Tree, size: int, price: float, margin: float) -> int:
    """The arm whose line is lowest at this price, ties to the smallest arm number."""
    repair(tree, size, 1, price, margin)
    return int(tree[WIDTH + ARM])


def settle_all(tree: Tree, size: int, price: float, margin: float) -> None:
    """Settle every node at this price, from the bottom up."""
    for leaf in range(size, 2 * size):
        settle_leaf(tree, size, leaf, price, margin)
    for v in range(size - 1, 0, -1):
        node, left = WIDTH * v, WIDTH * 2 * v
        right = left + WIDTH
        tree[node + LEAST] = min(tree[left + LEAST], tree[right + LEAST])
        tree[node + MOST] = max(tree[left + MOST], tree[right + MOST])
        combine(tree, node, left, right, price, margin)
