"""What a user sees of a model: whether it is followed, how it did, and what was missing in contexts."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextReport:
    """How a selector uses contexts; see `Selector.context_report`."""

    model: str
    trusted: bool  # whether the model is followed now
    followed: int  # outcomes of decisions that the model made
    lost: int  # how often trust was lost because the model's decisions cost more than the controls
    anew: int  # how often the model started again because its predictions no longer held
    failures: int  # how often the model raised or made an invalid prediction
    held_back: bool  # whether the guard keeps the model from deciding now
    # Per decision since the model is followed: cost − price·success of the controls, less that of the model's decisions.
    saved: float | None
    saved_error: float | None  # its standard error
    fields: Mapping[
        str, Mapping[str, object]
    ]  # per field of contexts: values missing, not finite, or of a new category

    def __str__(self) -> str:
        state = "is followed" if self.trusted else "is not trusted yet, or no longer"
        state = "is held back by the guard" if self.held_back else state
        lines = [f"The model ({self.model}) {state}; it made {self.followed:,} of the decisions with an outcome."]
        if self.saved is not None and self.saved_error is not None and self.saved > 2.0 * self.saved_error:
            lines.append(
                f"It saves {self.saved:.2g} ± {2.0 * self.saved_error:.1g} per decision, compared with the controls, which "
                "the chooser decides without the context."
            )
        if self.lost or self.anew:
            lines.append(
                f"It lost trust {self.lost:,} times because its decisions cost more, and started again {self.anew:,} times "
                "because its predictions no longer held."
            )
        if self.failures:
            lines.append(f"It failed {self.failures:,} times; the chooser decided instead, without the context.")
        for name, field in self.fields.items():
            counts = [f"{field[what]:,} {what}" for what in ("missing", "unseen") if field.get(what)]
            if counts:
                lines.append(f"Field {name!r}: {', '.join(counts)} of {field['noted']:,}.")
        return "\n".join(lines)
