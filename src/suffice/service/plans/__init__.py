"""Plans: the JSON bodies from which selectors are made."""

from suffice.service.plans.json_options import arm_of, option_json
from suffice.service.plans.plan import EXAMPLE, Plan

__all__ = ["EXAMPLE", "Plan", "arm_of", "option_json"]
