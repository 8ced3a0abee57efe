"""Quote an interval for electricity demand that holds nine times in ten, around a poor forecast.

    python examples/intervals.py                     # a made-up year
    python examples/intervals.py --path elec2.npz    # New South Wales: an array `nswdemand` of half-hours, from 0 to 1

The forecast is the demand of the same half-hour a week ago. All that comes back is whether the interval around it held, not by
how much it missed. The narrower the interval the better: it costs its width. The errors of the forecast double in
the summer of the made-up year.
"""

import numpy as np
from numpy.typing import NDArray
from watch import Story, Watch, arguments, draw

import suffice

TARGET, WEEK, YEAR = 0.9, 7 * 48, 365 * 48
REACH = 0.25  # errors up to a quarter of all the range are told apart; what is beyond counts as the end


def made_up(rng: np.random.Generator) -> NDArray[np.float64]:
    """A year of half-hours: days, weekends, and weather that lasts."""
    time = np.arange(YEAR + WEEK)
    hours, weekday = time % 48 / 2, time // 48 % 7
    usual = (
        0.45 - 0.15 * np.cos((hours - 4.0) / 12.0 * np.pi) - 0.05 * np.cos(hours / 6.0 * np.pi) - 0.06 * (weekday >= 5)
    )
    weather = np.zeros(len(time))
    for half_hour, news in enumerate(rng.normal(0.0, 0.008, len(time)) * np.where(time < YEAR // 2, 1.0, 2.0)):
        weather[half_hour] = 0.98 * weather[half_hour - 1] + news
    return np.clip(usual + weather, 0.0, 1.0)


def main() -> None:
    """Quote an interval for each half-hour."""
    parser = arguments(__doc__)
    parser.add_argument("--path", help="elec2.npz, instead of the made-up year")
    parser.add_argument("--chooser", default="optimist", help="or 'thompson', which samples")
    given = parser.parse_args()
    demand = np.load(given.path)["nswdemand"].astype(np.float64) if given.path else made_up(np.random.default_rng(1))
    forecast, demand = demand[:-WEEK], demand[WEEK:]
    errors = np.clip(0.5 + (demand - forecast) / (2.0 * REACH), 0.0, 1.0)  # 0.5: the forecast was right

    menu = suffice.Menu.intervals(step=0.1)
    # Bounds are named, lest "auto" find others where there is a compiler: the numbers are then the same everywhere.
    learning = suffice.Learning(chooser=given.chooser, bounds="ordered", memory="reset")
    selector, watch = suffice.Selector(menu, TARGET, learning=learning), Watch()
    for error in errors.tolist():
        decision = selector.ask()
        low, high = decision.option  # yours: quote forecast + (low − 0.5)·2·REACH to forecast + (high − 0.5)·2·REACH
        success = low <= error <= high
        selector.tell(decision, success)
        name = "safe" if decision.is_safe else f"{(high - low) * 2.0 * REACH:.0%}"
        watch.note(name, success, (high - low) * 2.0 * REACH, selector.debt)

    print(f"{selector.certificate()}\n")
    best, half, options = [], len(errors) // 2, [*menu.options, menu.safe]
    for name, begin, end in (("first half", 0, half), ("second half", half, len(errors))):
        held = [((low <= errors[begin:end]) & (errors[begin:end] <= high)).mean() for low, high in options]
        best.append((begin, suffice.optimum(held, [high - low for low, high in options], TARGET).cost * 2.0 * REACH))
        print(f"{name:12}{watch.said(begin, end)}; the best fixed mix of intervals costs {best[-1][1]:.3f}")
    print(f"The cost is the mean width, as a share of the range of demand; always the widest costs {2.0 * REACH:.3f}.")
    marks = {} if given.path else {half: "summer"}
    order = *(f"{width}%" for width in range(5, 50, 5)), "safe"
    story = Story(TARGET, 2.0 * REACH, best, "best fixed mix", marks, order, "width quoted (share)", "half-hours")
    draw(given.figure, {"suffice": watch}, story)


if __name__ == "__main__":
    main()
