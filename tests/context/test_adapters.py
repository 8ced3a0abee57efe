"""The adapters for scikit-learn, River and functions: what they learn, predict and refuse."""

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest
from river import linear_model, naive_bayes, preprocessing, tree
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

from suffice import InvalidArgument, Menu
from suffice.context.models import FunctionModel, Model, RiverModel, SklearnModel, as_model
from suffice.context.models.calibration import logistic
from suffice.errors import InvalidContext
from tests.support.context_models import HalfModel

MENU = Menu({"small": 0.1, "large": 0.4}, safe="a person", skip="skip", safe_cost=1.0)
WITHOUT_SKIP = Menu({"small": 0.1, "large": 0.4}, safe="a person", safe_cost=1.0)
bayes: Any = naive_bayes  # not typed


def true_rate(context: dict[str, Any], place: int) -> float:
    """The small one succeeds in easy contexts, and more often in a chat; the large one nearly always."""
    return 0.9 if place == 1 else logistic(8.0 * (0.5 - context["hard"]) + (1.5 if context["task"] == "chat" else 0.0))


def random_contexts(count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        task = "chat" if rng.random() < 0.3 else "code"
        noise = rng.normal() if rng.random() < 0.95 else math.nan
        rows.append({"hard": rng.random(), "noise": noise, "task": task})
    return rows


def trained(model: Any, count: int = 1000, menu: Menu = MENU) -> Any:
    """A model with so many outcomes, of random arms, boundary arms included."""
    rng = np.random.default_rng(0)
    model.open(menu)
    for context in random_contexts(count, 0):
        arm = int(rng.integers(menu.n_arms))
        kind = menu.kind_of(arm)
        rate = true_rate(context, arm - menu.has_skip) if kind == 0 else float(kind > 0)
        model.update(context, arm, float(rng.random() < rate), None)
    return model


def error(model: Any, menu: Menu = MENU) -> float:
    """The mean distance of the predicted success of the small one from the truth, in contexts not seen before."""
    rows = random_contexts(200, 99)
    return float(np.mean([abs(model.predict(row)[0][int(menu.has_skip)] - true_rate(row, 0)) for row in rows]))


MODELS: dict[str, Any] = {
    "sgd": lambda: SklearnModel(SGDClassifier(loss="log_loss", average=True)),
    "hinge": lambda: SklearnModel(SGDClassifier(loss="hinge", average=True)),
    "multinomial": lambda: SklearnModel(MultinomialNB()),
    "bernoulli": lambda: SklearnModel(BernoulliNB()),
    "gaussian": lambda: SklearnModel(GaussianNB()),
    "mlp": lambda: SklearnModel(MLPClassifier((8,), learning_rate_init=0.05)),
    "river logistic": lambda: RiverModel(preprocessing.StandardScaler() | linear_model.LogisticRegression()),
    "river tree": lambda: RiverModel(tree.HoeffdingTreeClassifier(grace_period=50)),
    "river bayes": lambda: RiverModel(bayes.GaussianNB()),
}


# --- all adapters


@pytest.mark.parametrize("name", MODELS)
def test_an_adapter_learns_from_outcomes(name: str) -> None:
    """A constant rate has an error of 0.33."""
    model = trained(MODELS[name]())
    assert error(model) < 0.22
    easy, hard = {"hard": 0.1, "noise": 0.0, "task": "code"}, {"hard": 0.9, "noise": 0.0, "task": "code"}
    assert model.predict(hard)[0][1] < 0.5 < model.predict(easy)[0][1]
    assert model.predict(hard)[0][2] > 0.8


@pytest.mark.parametrize("name", ["sgd", "river logistic"])
def test_a_menu_without_a_skip(name: str) -> None:
    assert error(trained(MODELS[name](), menu=WITHOUT_SKIP), WITHOUT_SKIP) < 0.22


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_repeatable_probabilities_in_any_context(name: str) -> None:
    model, other = trained(MODELS[name](), 300), trained(MODELS[name](), 300)
    for context in (
        *random_contexts(20, 5),
        {},
        {"hard": None, "noise": math.nan, "task": None},
        {"hard": math.inf, "task": "never seen"},
        {"hard": 1e300, "noise": -1e300, "task": "chat"},
    ):
        means, deviations = model.predict(context)
        assert np.asarray(means).shape == np.asarray(deviations).shape == (MENU.n_arms,)
        assert ((means >= 0.0) & (means <= 1.0)).all()
        assert ((deviations >= 0.0) & (deviations <= 0.5)).all()
        assert np.array_equal((means, deviations), model.predict(context))
        assert np.array_equal((means, deviations), other.predict(context))
        for one in (model, other):
            one.update(context, 1, 1.0, None)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_before_any_outcome_are_one_half(name: str) -> None:
    model = MODELS[name]()
    with pytest.raises(InvalidArgument, match="open"):
        model.predict({"hard": 0.5})
    model.open(MENU)
    means, deviations = model.predict({"hard": 0.5, "noise": 0.0, "task": "chat"})
    assert means.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert deviations.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("name", ["sgd", "river logistic"])
def test_a_context_that_does_not_fit_is_refused(name: str) -> None:
    model = trained(MODELS[name](), 50)
    with pytest.raises(InvalidContext, match="'hard'"):
        model.predict({"hard": "very"})
    with pytest.raises(InvalidContext, match="'weather'"):
        model.update({"weather": 1.0}, 1, 1.0, None)


def test_outcomes_reduce_the_deviation() -> None:
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


def test_boundary_arms_teach_nothing_about_other_arms() -> None:
    model = trained(MODELS["sgd"](), 130)  # the classifiers are fitted again after 128 and 256 outcomes
    before = model.predict({"hard": 0.5})
    for _ in range(20):
        model.update({"hard": 0.5}, 0, 0.0, None)
        model.update({"hard": 0.5}, 3, 1.0, None)
    assert np.array_equal(before, model.predict({"hard": 0.5}))


def test_partial_successes_are_learned_as_rates() -> None:
    for name in ("sgd", "river bayes"):
        model = MODELS[name]()
        model.open(MENU)
        for context in random_contexts(800, 1):
            model.update(context, 1, 0.25, 0.1)
        assert model.predict({"hard": 0.5, "noise": 0.0, "task": "code"})[0][1] == pytest.approx(0.25, abs=0.12)


def test_an_adapter_forgets() -> None:
    model = SklearnModel(SGDClassifier(loss="log_loss", random_state=0))
    model.open(MENU)
    for step in range(400):
        model.update({"x": step % 2}, 1, float(step % 2), None)
    assert model.predict({"x": 1.0})[0][1] > 0.8
    model.forget()
    assert model.predict({"x": 1.0})[0][1] == pytest.approx(0.5)


# --- scikit-learn


def test_sklearn_features_change_at_four_fits_and_then_stay() -> None:
    model = SklearnModel(SGDClassifier(loss="log_loss"))
    rng = np.random.default_rng(0)
    model.open(MENU)
    widths = []
    for step, context in enumerate(random_contexts(300, 0), start=1):
        model.update({**context, "task": str(step // 40)}, 1, float(rng.random() < 0.5), None)
        widths.append(model.features.width)
    changes = [step for step in range(2, 301) if widths[step - 1] != widths[step - 2]]
    assert changes[:1] == [32]
    assert set(changes) <= {32, 64, 128, 256}
    assert model.features.frozen
    assert model.features.report()["task"]["categories"] == [str(step) for step in range(7)]
    assert model.features.report()["hard"]["noted"] == 300


def test_sklearn_learns_every_outcome_kept() -> None:
    """After 256 outcomes the classifiers are those that learn all of them at once, from their final vectors."""
    model = trained(SklearnModel(BernoulliNB(), calibrate=False), 256)
    rng = np.random.default_rng(0)
    by_hand, rows = BernoulliNB(), random_contexts(256, 0)
    vectors, labels = [], []
    for context in rows:
        arm = int(rng.integers(MENU.n_arms))
        rate = true_rate(context, arm - 1) if MENU.kind_of(arm) == 0 else float(MENU.kind_of(arm) > 0)
        label = rng.random() < rate
        if arm == 1:
            vectors.append(model.features.vector(model.features.row(context))[1:])
            labels.append(label)
    by_hand.partial_fit(np.array(vectors), np.array(labels), classes=[False, True])
    for context in rows[:20]:
        vector = model.features.vector(model.features.row(context))[1:]
        assert model.predict(context)[0][1] == by_hand.predict_proba([vector])[0, 1]


# --- River


def test_river_gets_fields_by_name_without_missing_ones() -> None:
    seen: list[Any] = []

    class Recorder:
        def learn_one(self, x: dict[str, float], y: bool) -> None:
            seen.append((x, y))

        def predict_proba_one(self, x: dict[str, float]) -> dict[bool, float]:
            return {}

    model = RiverModel(Recorder())
    model.open(MENU)
    model.update({"x": 1, "t": "a", "u": True, "v": math.nan}, 2, 1.0, None)
    model.update({"x": 1, "t": None}, 0, 1.0, None)  # not an interior arm
    assert seen == [({"x": 1.0, "t is a": 1.0, "u is True": 1.0}, True)]
    assert model.predict({"x": 1.0})[0].tolist() == pytest.approx([0.0, 0.5, 2 / 3, 1.0])


def test_river_copies_keep_what_the_classifier_has_learned() -> None:
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


# --- functions


def function_model(answer: Any) -> FunctionModel:
    model = FunctionModel(lambda context: answer)
    model.open(MENU)
    return model


@pytest.mark.parametrize(
    "answer",
    [[0.3, 0.6], (0.3, 0.6), np.array([0.3, 0.6]), [0.0, 0.3, 0.6, 1.0], {"large": 0.6, "small": 0.3}],
)
def test_what_a_function_may_return(answer: Any) -> None:
    assert function_model(answer).predict(object())[0] == pytest.approx(np.array([0.0, 0.3, 0.6, 1.0]))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.5], "2 probabilities, one per interior option, or 4, one per arm"),
        (0.5, "2 probabilities"),
        (None, "2 probabilities"),
        ([0.5, 1.5], r"from 0 to 1, got 1.5"),
        ([-0.5, 0.5], r"from 0 to 1, got -0.5"),
        (["high", "low"], r"from 0 to 1, got 'high'"),
        ({"medium": 0.5}, "'medium'"),
    ],
)
def test_what_a_function_must_not_return(answer: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        function_model(answer).predict({})


@pytest.mark.parametrize("answer", [{"large": 0.6}, [math.nan, 0.6]])
def test_an_option_without_a_probability_has_its_rate(answer: Any) -> None:
    model = function_model(answer)
    for success in (1.0, 1.0, 0.0):
        model.update({}, 1, success, None)
    assert model.predict({})[0].tolist() == pytest.approx([0.0, 0.6, 0.6, 1.0])


def test_a_function_is_called_once_per_decision_and_calibrated() -> None:
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
    model.update({"x": 1.0}, 1, 1.0, None)  # not predicted before: called now
    raw.update({"x": 1.0}, 1, 1.0, None)
    assert len(calls) == 503
    assert raw.predict({"x": 1.0})[0][1] == 0.99


def test_a_function_model_remembers_at_most_1024_contexts() -> None:
    calls = itertools.count()
    model = FunctionModel(lambda context: [0.5 + 0.0 * next(calls), 0.5])
    model.open(MENU)
    held = [{"x": float(place)} for place in range(1500)]
    for context in held:
        model.predict(context)
    for context in held:
        model.update(context, 1, 1.0, None)
    assert next(calls) == 1500 + (1500 - 1024)


# --- what may be passed as a model


def test_as_model_picks_the_adapter() -> None:
    own: Model = HalfModel()
    assert as_model(own) is own
    wrapped = as_model(SGDClassifier(loss="log_loss"))
    assert isinstance(wrapped, SklearnModel)
    assert as_model(wrapped) is wrapped
    assert isinstance(as_model(Perceptron()), SklearnModel)
    assert isinstance(as_model(linear_model.LogisticRegression()), RiverModel)
    assert isinstance(as_model(preprocessing.StandardScaler() | linear_model.LogisticRegression()), RiverModel)
    assert isinstance(as_model(lambda context: [0.5]), FunctionModel)


@pytest.mark.parametrize("thing", [3, None, "sklearn", object(), SGDClassifier, HalfModel, SGDRegressor(), [0.5]])
def test_as_model_refuses_anything_else(thing: Any) -> None:
    with pytest.raises(InvalidArgument, match=r'model must be "auto", an object with predict and update, .* got'):
        as_model(thing)


def test_adapters_refuse_what_they_cannot_use() -> None:
    wrong: Any = SGDRegressor()
    for call, name in (
        (lambda: SklearnModel(wrong), "classifier"),
        (lambda: SklearnModel(SGDClassifier), "classifier"),
        (lambda: SklearnModel(BernoulliNB(), calibrate=wrong), "calibrate"),
        (lambda: RiverModel(wrong), "model"),
        (lambda: FunctionModel(wrong), "function"),
    ):
        with pytest.raises(InvalidArgument, match=f"^{name} must"):
            call()
