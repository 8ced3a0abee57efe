"""Plans: what a selector is made from, as JSON says it."""

from suffice.service.plans.json_options import arm_of, option_json
from suffice.service.plans.plan import EXAMPLE, Plan

__all__ = ["EXAMPLE", "Plan", "arm_of", "option_json"]
