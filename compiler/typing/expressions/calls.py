"""Calls: of a block, by way of the checker of whole blocks; of an op; and `raw`."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ....dsl.source import Span
from ...base.idioms import AXIS_WORDS
from ...graph.typed_value import TypedValue
from ...ops import Notation, written
from ...problems.forms import OnlyOneValue
from ...problems.names import NothingCalled
from ...problems.plain import Plain
from ..environment import Environment
from .dispatch import expression, of_kind
from .ops import op_call


@of_kind(s.CallExpr)
def call(env: Environment, tree: s.CallExpr, binding: str | None = None) -> TypedValue | None:
    """The one value that a call gives."""
    found = called(env, tree, binding)
    if not isinstance(found, list):
        return found
    if len(found) == 1:
        return found[0]
    block = env.module.blocks[_block_of(env, tree.callee.text)]
    names = tuple(result.name.text for result in block.decl.results if result.name)
    env.problems.add(Plain.SEVERAL_RESULTS.at(tree.span, tree.callee.text, len(found), ", ".join(names)))
    return None


def called(
    env: Environment, tree: s.CallExpr, binding: str | None = None
) -> TypedValue | list[TypedValue | None] | None:
    """What a call gives: a typed value (an op), or a list of results (a block)."""
    found = _called(env, tree, binding)
    if env.facts is not None:
        match found:
            case [_, _, *_]:
                env.facts.results[tree.span] = found
            case [wire] | (TypedValue() as wire):
                env.noted(tree.span, wire)
    return found


def _block_of(env: Environment, name: str) -> str:
    """The block that a name calls: its own, or that whose weights it shares."""
    return env.shares[name].block.text if name in env.shares else name


def _called(env: Environment, call: s.CallExpr, binding: str | None) -> TypedValue | list[TypedValue | None] | None:
    name, module = call.callee.text, env.module
    block = module.blocks.get(_block_of(env, name))
    if block is not None:
        return env.checker.call_block(env, block, call, name if name in env.shares else None)
    if call.scan is not None:
        visit_arguments(env, call)
        if not env.signature.is_missing(name):
            env.problems.add(Plain.NO_BLOCK_SCANNED.at(call.callee.span, name, known=module.blocks))
        return None
    if name == "raw":
        return raw(env, call)
    along = any(each.name is not None and each.name.text in AXIS_WORDS for each in call.arguments)
    bare = call.brackets is None and len(call.arguments) != 1 and not along
    op = (written(Notation.BARE, name) if bare else None) or written(Notation.CALL, name)
    if op is not None:
        return op_call(env, call, op, binding)
    visit_arguments(env, call)
    if env.signature.is_missing(name) or env.variables.get(name, call) is None:
        return None
    blocks = module.blocks.keys() - {env.block.name}  # a block cannot call itself
    start = next((item.span.start for item in module.file.items if isinstance(item, s.UseDecl)), None)
    used = Span(module.source, start or 0, start or 0), start is not None
    known, library = (*blocks, *env.shares), env.checker.library.get(name)
    env.problems.add(NothingCalled(call.callee.span, call, name in env.variables, known, library, used))
    return None


def visit_arguments(env: Environment, call: s.CallExpr) -> None:
    """Check the arguments for mistakes of their own, when the call itself cannot be understood."""
    for argument in call.arguments:
        value = argument.value.value if isinstance(argument.value, s.WhereExpr) else argument.value
        expression(env, value)


def raw(env: Environment, call: s.CallExpr) -> TypedValue | None:
    """`raw(w)`: the same value without its mark (D6)."""
    if len(call.arguments) != 1 or call.brackets is not None:
        visit_arguments(env, call)
        env.problems.add(OnlyOneValue(call.span, call))
        return None
    wire = expression(env, call.arguments[0].value)
    return None if wire is None else replace(wire, mark=frozenset(), mark_unknown=False)
