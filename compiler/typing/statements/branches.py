"""Static `if`: both branches are checked, only the taken one owns weights."""

from __future__ import annotations

from collections.abc import Sequence

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ...graph.typed_value import TypedValue
from ...problems.elements import Wanted, WrongElement
from ...problems.plain import Plain
from ...sizes.axes import known
from ..builder import Builder
from ..environment import Environment
from ..expressions.dispatch import expression
from ..outcome import Outcome
from ..sharing import check_one_set
from .dispatch import of_kind, run


@of_kind(s.If)
def branch(env: Environment, statement: s.If) -> Environment:
    """The branch that is taken; the first, on trial, where that is not known."""
    condition = expression(env, statement.condition)
    if condition is not None and condition.static is None:
        env.problems.add(Plain.BRANCH_AT_RUN_TIME.at(statement.condition.span, condition.type))
        return env
    decided = None if condition is None else _decided(env, statement, condition)
    by_pass = condition is not None and condition.static is not None and known(condition.static) is None
    undecided = decided is None and condition is not None and not _at_run_time(env, condition)
    env.outcome.decide(bool(decided), undecided)
    taken, other = statement.then, statement.otherwise
    if decided is False:
        taken, other = other, taken
    env = _discard(env, other, decided is None, by_pass and decided is not None)
    before = len(env.outcome.formulas)
    after = run(env.but(taken=env.taken and decided is not None), taken)
    if decided is None:
        del env.outcome.formulas[before:]
    return replace(after, taken=env.taken)


def _decided(env: Environment, statement: s.If, condition: TypedValue) -> bool | None:
    """Whether the condition holds in the pass at hand; arithmetic in it that has no value is reported."""
    assert condition.static is not None
    holds = known(env.in_this_pass(condition.static))
    if holds is not None and not isinstance(holds, bool):
        env.problems.add(WrongElement(statement.condition.span, condition.type, Wanted.BRANCH))
        holds = True
    if _at_run_time(env, condition):
        env.problems.add(Plain.BRANCH_BY_WIDTH.at(statement.condition.span))
    return holds


def _at_run_time(env: Environment, condition: TypedValue) -> bool:
    static = condition.static
    return static is not None and env.signature.only_at_run_time(env.in_this_pass(static))


def _discard(env: Environment, statements: Sequence[s.Statement], unsure: bool, by_pass: bool) -> Environment:
    """Check a branch that is not taken, and keep nothing of it but its mistakes: of names and types, not of sizes.

    by_pass: other passes of a repeat take it. What depends on the values that they get (D6) is reported for those.
    """
    outcome = Outcome(used=env.outcome.used, splits=dict(env.outcome.splits))
    shares = {name: replace(share) for name, share in env.shares.items()}
    trial = env.but(builder=Builder(parent=env.builder), outcome=outcome, shares=shares, taken=False)
    with env.problems.aside() as found:
        check_one_set(run(trial, statements))
    env.problems.found += [problem for problem in found if not (by_pass and problem.deep)]
    env.outcome.undecided = env.outcome.undecided or outcome.undecided
    env.outcome.assigned.update(
        {name: span for name, span in outcome.assigned.items() if name not in env.outcome.assigned}
    )
    new = {name: span for name, span in outcome.assigned.items() if name not in env.variables}
    if unsure:
        return env.but(variables={**env.variables, **dict.fromkeys(new)})
    return env.but(untaken={**env.untaken, **new})
