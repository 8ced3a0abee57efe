"""Models of one's own: adapters that learn, probabilities that become honest, and what each of them refuses."""

import copy
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from river import compose, linear_model, naive_bayes, preprocessing, tree
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

from suffice import InvalidArgument, Menu
from suffice.context.features import Features
from suffice.context.models import FunctionModel, Model, RiverModel, SklearnModel, as_model
from suffice.context.models.calibration import Calibration, log_odds, logistic
from suffice.errors import InvalidContext
from suffice.kernels.rows import Floats

bayes: Any = naive_bayes  # not typed

MENU = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip")
BARE = Menu({"small": 0.1, "large": 0.4}, safe="a person")


def truth(context: dict[str, Any], place: int) -> float:
    """The small one succeeds where things are easy, and more often in a chat; the large one nearly always."""
    return 0.9 if place == 1 else logistic(8.0 * (0.5 - context["hard"]) + (1.5 if context["task"] == "chat" else 0.0))


def world(count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        row: dict[str, Any] = {
            "hard": rng.random(),
            "noise": rng.normal(),
            "task": "chat" if rng.random() < 0.3 else "code",
        }
        if rng.random() < 0.05:
            row["noise"] = math.nan
        rows.append(row)
    return rows


def taught(model: Any, count: int = 1000, menu: Menu = MENU, seed: int = 0) -> Any:
    """A model that has seen so many outcomes, of arms at random, boundary arms among them."""
    rng = np.random.default_rng(seed)
    model.open(menu)
    for context in world(count, seed):
        arm = int(rng.integers(menu.n_arms))
        kind = menu.kind_of(arm)
        chance = truth(context, arm - menu.has_skip) if kind == 0 else float(kind > 0)
        model.update(context, arm, float(rng.random() < chance), None)
    return model


def always(answer: Any) -> Any:
    """A function that gives the same in every context."""
    return lambda context: answer


def error(model: Any, menu: Menu = MENU) -> float:
    """The mean distance between the predicted success of the small one and the truth, in contexts not seen before."""
    rows = world(200, 99)
    return float(np.mean([abs(model.predict(row)[0][int(menu.has_skip)] - truth(row, 0)) for row in rows]))


MODELS: dict[str, Any] = {
    "sgd": lambda: SklearnModel(SGDClassifier(loss="log_loss", average=True)),
    "hinge": lambda: SklearnModel(SGDClassifier(loss="hinge", average=True)),
    "multinomial": lambda: SklearnModel(MultinomialNB()),
    "bernoulli": lambda: SklearnModel(BernoulliNB()),
    "gaussian": lambda: SklearnModel(GaussianNB()),
    "mlp": lambda: SklearnModel(MLPClassifier((8,), learning_rate_init=0.02), batch=1),
    "river logistic": lambda: RiverModel(preprocessing.StandardScaler() | linear_model.LogisticRegression()),
    "river tree": lambda: RiverModel(tree.HoeffdingTreeClassifier(grace_period=50), text=True),
    "river bayes": lambda: RiverModel(bayes.GaussianNB()),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_adapter_learns_a_simple_truth(name: str) -> None:
    """A rate that knows no context is 0.33 away on average."""
    model = taught(MODELS[name]())
    assert error(model) < 0.22
    easy, hard = {"hard": 0.1, "noise": 0.0, "task": "code"}, {"hard": 0.9, "noise": 0.0, "task": "code"}
    assert model.predict(hard)[0][1] < 0.5 < model.predict(easy)[0][1]
    assert model.predict(hard)[0][2] > 0.8


@pytest.mark.parametrize("name", ["sgd", "river logistic"])
def test_a_menu_without_a_skip(name: str) -> None:
    assert error(taught(MODELS[name](), menu=BARE), BARE) < 0.22


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_probabilities_whatever_the_context(name: str) -> None:
    model = taught(MODELS[name](), 300)
    for context in (
        {},
        {"hard": None, "noise": math.nan, "task": None},
        {"hard": math.inf, "task": "never seen"},
        {"hard": 1e300, "noise": -1e300, "task": "chat"},
    ):
        before = model.predict(context)
        for means, deviations in (before, (model.update(context, 1, 1.0, None), model.predict(context))[1]):
            assert np.asarray(means).shape == np.asarray(deviations).shape == (MENU.n_arms,)
            assert ((means >= 0.0) & (means <= 1.0)).all()
            assert ((deviations >= 0.0) & (deviations <= 0.5)).all()


@pytest.mark.parametrize("name", MODELS)
def test_predicting_changes_nothing_and_all_is_repeatable(name: str) -> None:
    model, other = taught(MODELS[name](), 300), taught(MODELS[name](), 300)
    for context in world(20, 5):
        first = model.predict(context)
        assert np.array_equal(first, model.predict(context))
        assert np.array_equal(first, other.predict(context))


@pytest.mark.parametrize("name", MODELS)
def test_before_anything_is_known_every_arm_may_be_anything(name: str) -> None:
    model = MODELS[name]()
    with pytest.raises(InvalidArgument, match="open"):
        model.predict({"hard": 0.5})
    model.open(MENU)
    means, deviations = model.predict({"hard": 0.5, "noise": 0.0, "task": "chat"})
    assert means.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert deviations.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("name", ["sgd", "river logistic"])
def test_a_context_that_does_not_fit_is_named(name: str) -> None:
    model = taught(MODELS[name](), 50)
    with pytest.raises(InvalidContext, match="'hard'"):
        model.predict({"hard": "very"})
    with pytest.raises(InvalidContext, match="'weather'"):
        model.update({"weather": 1.0}, 1, 1.0, None)


def test_outcomes_make_it_surer() -> None:
    model = FunctionModel(lambda context: [0.0, 1.0])
    model.open(MENU)
    widths = []
    for _ in range(3):
        means, deviations = model.predict({})
        assert means.tolist() == pytest.approx([0.0, 0.0, 1.0, 1.0], abs=0.01)
        widths.append(deviations[1:3].tolist())
        model.update({}, 1, 0.0, None)
    assert [width[0] for width in widths] == sorted((width[0] for width in widths), reverse=True)
    assert widths[2][0] == pytest.approx(math.sqrt(0.25 * 0.75 / 3), rel=1e-3)
    assert widths[2][1] == widths[0][1] == 0.5


def test_boundary_arms_teach_nothing_about_the_others() -> None:
    model = taught(MODELS["sgd"](), 130)  # the classifiers are fitted anew after 128 and 256
    before = model.predict({"hard": 0.5})
    for _ in range(20):
        model.update({"hard": 0.5}, 0, 0.0, None)
        model.update({"hard": 0.5}, 3, 1.0, None)
    after = model.predict({"hard": 0.5})
    assert np.array_equal(before, after)


def test_a_success_may_be_a_share() -> None:
    """Told 0.25 every time, every adapter predicts about that, and a classifier hears of a success in a quarter of them."""
    heard: list[bool] = []

    class Ear:
        def learn_one(self, x: dict[str, Any], y: bool) -> None:
            heard.append(y)

        def predict_proba_one(self, x: dict[str, Any]) -> dict[bool, float]:
            return {}

    ear = RiverModel(Ear())
    ear.open(MENU)
    for _ in range(1000):
        ear.update({"x": 1.0}, 1, 0.25, None)
    assert np.mean(heard) == pytest.approx(0.25, abs=0.05)
    for name in ("sgd", "river bayes"):
        model = MODELS[name]()
        model.open(MENU)
        for context in world(800, 1):
            model.update(context, 1, 0.25, 0.1)
        assert model.predict({"hard": 0.5, "noise": 0.0, "task": "code"})[0][1] == pytest.approx(0.25, abs=0.12)


# --- calibration


def loss(chances: Floats, outcomes: Floats) -> float:
    chances = np.clip(chances, 1e-12, 1.0 - 1e-12)
    return float(-(outcomes * np.log(chances) + (1.0 - outcomes) * np.log1p(-chances)).mean())


def prequential(given: Floats, outcomes: Floats) -> tuple[float, Calibration]:
    calibration, used = Calibration(), []
    for chance, outcome in zip(given.tolist(), outcomes.tolist(), strict=True):
        used.append(calibration.apply(chance))
        calibration.update(chance, outcome)
    return loss(np.array(used), outcomes), calibration


@pytest.mark.parametrize(
    ("tilt", "shift"), [(4.0, 0.0), (10.0, 0.0), (0.3, 0.0), (1.0, 2.0), (3.0, -2.0)],
    ids=["too sure", "much too sure", "too timid", "too hopeful", "too sure and too grim"],
)  # fmt: skip
def test_calibration_mends_probabilities(tilt: float, shift: float) -> None:
    """Most of the log loss that wrong probabilities cost is gone, measured on outcomes not yet learned from."""
    rng = np.random.default_rng(0)
    odds = 1.5 * rng.normal(size=3000)
    outcomes = (rng.random(3000) < 1.0 / (1.0 + np.exp(-odds))).astype(float)
    given = 1.0 / (1.0 + np.exp(-np.clip(tilt * odds + shift, -50.0, 50.0)))
    best, before = loss(1.0 / (1.0 + np.exp(-odds)), outcomes), loss(given, outcomes)
    after, calibration = prequential(given, outcomes)
    assert after < best + 0.25 * (before - best)
    assert calibration.slope == pytest.approx(1.0 / tilt, rel=0.4)


def test_calibration_is_newtons_step() -> None:
    rng = np.random.default_rng(3)
    calibration, known, weights = Calibration(), np.zeros((2, 2)), np.array([1.0, 0.0])
    for _ in range(50):
        chance, outcome = float(rng.uniform(0.1, 0.9)), float(rng.random() < 0.6)
        at = np.array([math.log(chance / (1.0 - chance)), 1.0])
        expected = 1.0 / (1.0 + math.exp(-weights @ at))
        known = 0.999 * known + expected * (1.0 - expected) * np.outer(at, at)
        weights = weights + np.linalg.solve(known + 4.0 * np.eye(2), (outcome - expected) * at)
        calibration.update(chance, outcome)
        assert [calibration.slope, calibration.shift] == pytest.approx(weights.tolist())
    assert weights[0] > 0.0  # else the step would have been cut


def test_calibration_leaves_honest_probabilities_alone() -> None:
    rng = np.random.default_rng(1)
    given = rng.random(3000)
    outcomes = (rng.random(3000) < given).astype(float)
    after, calibration = prequential(given, outcomes)
    assert after < loss(given, outcomes) + 0.005
    assert calibration.slope == pytest.approx(1.0, abs=0.2)


def test_calibration_finds_out_what_says_nothing() -> None:
    rng = np.random.default_rng(2)
    _, calibration = prequential(rng.random(2000), (rng.random(2000) < 0.8).astype(float))
    assert calibration.slope < 0.2
    assert calibration.apply(0.01) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("given", [0.0, 1.0, 1e-300, 1.0 - 2**-53])
@pytest.mark.parametrize("outcome", [0.0, 1.0, 0.5])
def test_calibration_survives_certainty(given: float, outcome: float) -> None:
    calibration = Calibration()
    for _ in range(500):
        calibration.update(given, outcome)
        assert 0.0 <= calibration.slope <= 16.0
        assert 0.0 < calibration.apply(given) < 1.0
    assert calibration.apply(given) == pytest.approx(outcome, abs=0.1)
    assert calibration.apply(0.2) <= calibration.apply(0.3)


def test_log_odds_and_back() -> None:
    for chance in (1e-5, 0.2, 0.5, 0.99999):
        assert logistic(log_odds(chance)) == pytest.approx(chance, rel=1e-9)
    assert (log_odds(0.0), log_odds(1.0), logistic(-1000.0), logistic(1000.0)) == (-12.0, 12.0, 0.0, 1.0)


def test_an_overconfident_classifier_is_mended() -> None:
    """Naive Bayes that is shown one fact ten times over believes it ten times."""

    def run(calibrate: bool) -> float:
        rng = np.random.default_rng(0)
        model = SklearnModel(BernoulliNB(), calibrate=calibrate)
        model.open(MENU)
        chances, outcomes = [], []
        for _ in range(1200):
            fact = "yes" if rng.random() < 0.5 else "no"
            context = {f"fact {place}": fact for place in range(10)}
            success = float(rng.random() < (0.7 if fact == "yes" else 0.3))
            chances.append(model.predict(context)[0][1])
            outcomes.append(success)
            model.update(context, 1, success, None)
        return loss(np.array(chances[300:]), np.array(outcomes[300:]))

    raw, mended = run(False), run(True)
    entropy = -(0.7 * math.log(0.7) + 0.3 * math.log(0.3))
    assert raw > entropy + 0.3
    assert mended < entropy + 0.06


# --- each of them


def test_sklearn_features_stay_as_they_are_in_the_end() -> None:
    model = SklearnModel(SGDClassifier(loss="log_loss"))
    rng = np.random.default_rng(0)
    model.open(MENU)
    widths = []
    for step, context in enumerate(world(300, 0), start=1):
        model.update({**context, "task": str(step // 40)}, 1, float(rng.random() < 0.5), None)
        widths.append(model.features.width)
    assert sorted(set(widths)) == sorted(set(widths), key=widths.index)
    changes = [step for step in range(2, 301) if widths[step - 1] != widths[step - 2]]
    assert changes[:1] == [32]
    assert set(changes) <= {32, 64, 128, 256}
    assert model.features.frozen
    assert model._kept == []
    assert model.features.report()["task"]["categories"] == [str(step) for step in range(7)]
    assert model.features.report()["hard"]["noted"] == 300


def test_sklearn_with_frozen_features_learns_from_the_beginning() -> None:
    features = Features()
    for context in world(128, 7):
        features.note(features.row(context))
    features.freeze()
    model = SklearnModel(SGDClassifier(loss="log_loss"), features, batch=1)
    taught(model, 31)
    assert not math.isnan(model.probability(world(1, 8)[0], 0))
    late = taught(SklearnModel(SGDClassifier(loss="log_loss"), batch=1), 31)
    assert math.isnan(late.probability(world(1, 8)[0], 0))


def test_sklearn_learns_all_that_was_kept() -> None:
    """After 256 outcomes the classifiers are those that learn them from their final vectors at once."""
    model = taught(SklearnModel(BernoulliNB(), calibrate=False), 256)
    rng = np.random.default_rng(0)
    by_hand, rows = BernoulliNB(), world(256, 0)
    vectors, labels = [], []
    for context in rows:
        arm = int(rng.integers(MENU.n_arms))
        chance = truth(context, arm - 1) if MENU.kind_of(arm) == 0 else float(MENU.kind_of(arm) > 0)
        label = rng.random() < chance
        if arm == 1:
            vectors.append(model.features.vector(model.features.row(context))[1:])
            labels.append(label)
    by_hand.partial_fit(np.array(vectors), np.array(labels), classes=[False, True])
    for context in rows[:20]:
        vector = model.features.vector(model.features.row(context))[1:]
        assert model.predict(context)[0][1] == by_hand.predict_proba([vector])[0, 1]


def test_river_gets_fields_by_name_and_what_is_missing_left_out() -> None:
    seen: list[Any] = []

    class Ear:
        def learn_one(self, x: dict[str, Any], y: bool) -> None:
            seen.append((x, y))

        def predict_proba_one(self, x: dict[str, Any]) -> dict[bool, float]:
            return {}

    for text, expected in (
        (False, {"x": 1.0, "t is a": 1.0, "u is True": 1.0}),
        (True, {"x": 1.0, "t": "a", "u": "True"}),
    ):
        model = RiverModel(Ear(), text=text)
        model.open(MENU)
        model.update({"x": 1, "t": "a", "u": True, "v": math.nan}, 2, 1.0, None)
        model.update({"x": 1, "t": None}, 0, 1.0, None)  # nothing: not an outcome of an interior arm
        assert seen.pop() == (expected, True)
        assert seen == []
        assert model.predict({"x": 1.0})[0].tolist() == pytest.approx([0.0, 0.5, 2 / 3, 1.0])


def test_river_keeps_what_was_learned_before() -> None:
    before = linear_model.LogisticRegression()
    for step in range(400):
        before.learn_one({"x": 1.0 if step % 2 else -1.0}, step % 2 == 1)
    untouched = copy.deepcopy(before.weights)
    model = RiverModel(before)
    model.open(MENU)
    assert model.predict({"x": 1.0})[0][1] > 0.75
    for _ in range(50):
        model.update({"x": 1.0}, 1, 0.0, None)
    assert model.predict({"x": 1.0})[0][1] < 0.6 < model.predict({"x": 1.0})[0][2]
    assert before.weights == untouched


def test_a_river_pipeline_for_text() -> None:
    pipeline = (
        (compose.SelectType(str) | preprocessing.OneHotEncoder())
        + (compose.SelectType(float) | preprocessing.StandardScaler())
    ) | linear_model.LogisticRegression()
    assert error(taught(RiverModel(pipeline, text=True))) < 0.22


@pytest.mark.parametrize(
    "answer",
    [[0.3, 0.6], (0.3, 0.6), np.array([0.3, 0.6]), [0.0, 0.3, 0.6, 1.0], {"large": 0.6, "small": 0.3}],
)
def test_a_function_may_answer_in_many_ways(answer: Any) -> None:
    model = FunctionModel(always(answer))
    model.open(MENU)
    assert model.predict(object())[0] == pytest.approx(np.array([0.0, 0.3, 0.6, 1.0]))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.5], "2 probabilities, one per interior option, or 4, one per arm"),
        ([0.5] * 3, "2 probabilities"),
        (0.5, "2 probabilities"),
        (None, "2 probabilities"),
        ([0.5, 1.5], r"from 0 to 1, got 1.5"),
        ([-0.5, 0.5], r"from 0 to 1, got -0.5"),
        (["high", "low"], r"from 0 to 1, got 'high'"),
        ({"medium": 0.5}, "'medium'"),
    ],
)
def test_a_function_that_answers_nonsense(answer: Any, said: str) -> None:
    model = FunctionModel(always(answer))
    model.open(MENU)
    with pytest.raises(InvalidArgument, match=said):
        model.predict({})


def test_an_option_that_a_function_leaves_out_has_its_rate() -> None:
    for answer in ({"large": 0.6}, [math.nan, 0.6]):
        model = FunctionModel(always(answer))
        model.open(MENU)
        for success in (1.0, 1.0, 0.0):
            model.update({}, 1, success, None)
        assert model.predict({})[0].tolist() == pytest.approx([0.0, 0.6, 0.6, 1.0])


def test_a_function_is_called_once_for_a_decision_and_calibrated() -> None:
    calls: list[int] = []

    def function(context: dict[str, float]) -> list[float]:
        calls.append(1)
        return [0.99 if context["x"] > 0 else 0.01, 0.5]

    rng = np.random.default_rng(0)
    model, raw = FunctionModel(function), FunctionModel(function, calibrate=False)
    model.open(MENU)
    raw.open(MENU)
    for _ in range(500):
        context = {"x": rng.normal()}
        model.predict(context)
        model.update(context, 1, float(rng.random() < (0.7 if context["x"] > 0 else 0.3)), None)
    assert len(calls) == 500
    assert model.predict({"x": 1.0})[0][1] == pytest.approx(0.7, abs=0.08)
    assert model.predict({"x": -1.0})[0][1] == pytest.approx(0.3, abs=0.08)
    model.update({"x": 1.0}, 1, 1.0, None)  # never predicted: asked now
    assert len(calls) == 503
    raw.update({"x": 1.0}, 1, 1.0, None)
    assert len(calls) == 503
    assert raw.predict({"x": 1.0})[0][1] == 0.99


def test_a_function_remembers_few_contexts() -> None:
    model = FunctionModel(lambda context: [0.5, 0.5])
    model.open(MENU)
    held = [{"x": float(place)} for place in range(1500)]
    for context in held:
        model.predict(context)
    assert len(model._given) == 1024
    for context in held:
        model.update(context, 1, 1.0, None)
    assert len(model._given) == 0


# --- whatever is passed


class Own:
    def predict(self, context: Any) -> tuple[list[float], list[float]]:
        return [0.0, 0.5, 0.5, 1.0], [0.0] * 4

    def update(self, context: Any, arm: int, success: float, cost: float | None) -> None:
        pass


def test_as_model() -> None:
    own: Model = Own()
    assert as_model(own) is own
    wrapped = as_model(SGDClassifier(loss="log_loss"))
    assert isinstance(wrapped, SklearnModel)
    assert as_model(wrapped) is wrapped
    assert isinstance(as_model(Perceptron()), SklearnModel)
    assert isinstance(as_model(linear_model.LogisticRegression()), RiverModel)
    assert isinstance(as_model(preprocessing.StandardScaler() | linear_model.LogisticRegression()), RiverModel)
    assert isinstance(as_model(lambda context: [0.5]), FunctionModel)


@pytest.mark.parametrize("thing", [3, None, "sklearn", object(), SGDClassifier, Own, SGDRegressor(), [0.5]])
def test_what_is_no_model_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidArgument, match=r'model must be "auto", an object with predict and update, .* got'):
        as_model(thing)


def test_adapters_refuse_what_they_cannot_use() -> None:
    wrong: Any = SGDRegressor()
    for call, name in (
        (lambda: SklearnModel(wrong), "classifier"),
        (lambda: SklearnModel(SGDClassifier), "classifier"),
        (lambda: SklearnModel(BernoulliNB(), wrong), "features"),
        (lambda: SklearnModel(BernoulliNB(), batch=0), "batch"),
        (lambda: SklearnModel(BernoulliNB(), calibrate=wrong), "calibrate"),
        (lambda: RiverModel(wrong), "model"),
        (lambda: RiverModel(linear_model.LogisticRegression(), text=wrong), "text"),
        (lambda: FunctionModel(wrong), "function"),
    ):
        with pytest.raises(InvalidArgument, match=f"^{name} must"):
            call()


def test_importing_the_adapters_imports_neither_library() -> None:
    code = "import sys, suffice.context.models; print({'sklearn', 'river', 'pandas', 'polars', 'scipy'} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert seen.strip() == "set()"
