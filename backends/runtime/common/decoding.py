"""What generated code of both backends checks when it decodes."""

from typing import Any, NamedTuple


class Decodes(NamedTuple):
    """What `generate` must know of a model: its name, the input that the items go into, their axis and how many there
    can be, the axis that they index and its size, the other inputs that it needs, and all that it takes. On a mesh of
    devices: along which axes of it each has some of the rows, and along which all have the same."""

    model: str
    prompt: str
    axis: str
    longest: int | None
    vocab: str
    size: int
    needs: tuple[str, ...]
    others: tuple[str, ...]
    apart: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()


class Configuration:
    """What a cache is for: a model as it was built. sizes: what it was built with, by the names of the parameters;
    digest: of its code, another one for another spec, backend or choice of rewrites; items: the input of which each
    step takes new ones, along an axis, and how many there can be."""

    def __init__(
        self, model: str, digest: str, sizes: dict[str, float], items: str, axis: str, longest: int | None
    ) -> None:
        self.model, self.digest, self.sizes = model, digest, sizes
        self.items, self.axis, self.longest = items, axis, longest

    def is_that_of(self, other: "Configuration") -> bool:
        """Whether they are equal, number by number: not every `torch.compile` can compare dictionaries."""
        if (self.model, self.digest, len(self.sizes)) != (other.model, other.digest, len(other.sizes)):
            return False
        return all(name in other.sizes and other.sizes[name] == size for name, size in self.sizes.items())


def plain(x: Any) -> Any:
    """A number of NumPy or PyTorch as one of Python; anything else as it is."""
    return x.item() if getattr(x, "ndim", None) == 0 else x


def begin_step(cache: Any, configuration: Configuration, batch: tuple[int, ...], count: int, last: int) -> None:
    """The cache goes on by `count` items; a step that cannot be is refused, and changes nothing."""
    if not is_trusted(cache):
        check_step(cache, configuration, batch, count, last)
    cache.batch = tuple(batch)
    cache.advance(count)


def check_written(model: str, **sizes: tuple[Any, Any]) -> None:
    """Refuses steps of a model that is built with another size or const than the numbers in them were made of."""
    for name, (built, written) in sizes.items():
        if built != written:
            of = f"steps of {model} are written for {name} = {written}, not {built}"
            raise ValueError(f"{of}: compile the spec with that number, or compute all items at once")


def is_trusted(cache: Any) -> bool:
    """Whether it is one of `generate`, which has looked at what it gives to its steps."""
    return getattr(cache, "trusted", False)


def check_step(cache: Any, configuration: Configuration, batch: tuple[int, ...], count: int, last: int) -> None:
    """Refuses a step that cannot be."""
    check_cache(cache, configuration)
    model, name, axis = configuration.model, configuration.items, configuration.axis
    longest = configuration.longest
    if count < 1:
        raise ValueError(f"{model}: a step takes at least one item of {axis}, but `{name}` has none")
    if longest is not None and cache.next + count > longest:
        raise ValueError(f"{model}: {axis} = {cache.next + count} after this step, but {axis} is at most {longest}")
    if cache.batch is not None and tuple(batch) != tuple(cache.batch):
        raise ValueError(f"{model}: `{name}` has the batch axes {tuple(batch)}, but its cache has {tuple(cache.batch)}")
    last = plain(last)
    if isinstance(last, bool) or not isinstance(last, int) or last < 0:
        raise ValueError(f"{model}: last is {last!r}, but must be a whole number: how many results (0: all)")


def check_cache(cache: Any, configuration: Configuration) -> None:
    """Refuses what was not begun by `prepare` of this model, as it was built."""
    known = getattr(cache, "configuration", None)
    if known is not None and configuration.is_that_of(known):
        return
    model, sizes = configuration.model, configuration.sizes
    if known is None:
        found = f"a {type(cache).__name__}"
    elif known.model != model:
        found = f"that of `{known.model}`"
    elif known.sizes != sizes:
        theirs = [f"{name} = {size}" for name, size in known.sizes.items() if sizes.get(name) != size]
        ours = [f"{name} = {size}" for name, size in sizes.items() if known.sizes.get(name) != size]
        found = f"that of `{model}` with {', '.join(theirs) or 'other sizes'}"
        found += f"; here {', '.join(ours)}" if ours else ""
    else:
        found = f"that of another `{model}`: of another spec, backend or choice of rewrites"
    raise TypeError(f"{model}: a step goes on from what `prepare` or the step before it left, but got {found}")


def check_call(
    decodes: Decodes, given: dict[str, Any], max_new: Any, **more: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model's inputs and the options of `generate`, of what was given by name; refuses what makes no sense.

    An input keeps its name: an option that is called so has a `_` in front. more: options besides those of every call,
    with what they are if they are not given.
    """
    model, others = decodes.model, decodes.others
    options: dict[str, Any] = {"temperature": 0.0, "top_k": None, "top_p": None, "eos": None, "seed": None} | more
    called = {f"_{key}" if key in others else key: key for key in options}
    unknown = [key for key in given if called.get(key) not in options and key not in others]
    if unknown:
        known = ", ".join([*others, *called])
        raise TypeError(f"{model}: generate knows no `{unknown[0]}`: it takes {known}")
    missing = [key for key in decodes.needs if key not in given]
    if missing:
        raise TypeError(f"{model}: `{missing[0]}` is missing: give it by name")
    if isinstance(max_new, bool) or not isinstance(max_new, int) or max_new < 0:
        raise ValueError(f"{model}: max_new is {max_new!r}, but must be a whole number, 0 or more")
    options |= {called[key]: plain(x) for key, x in given.items() if key in called and key not in others}
    check_options(model, decodes.vocab, decodes.size, options)
    return {key: x for key, x in given.items() if key in others}, options


def check_options(model: str, vocab: str, size: int, options: dict[str, Any]) -> None:
    """Refuses options of `generate` that make no sense."""
    temperature, top_k, top_p, eos, seed = (options[key] for key in ("temperature", "top_k", "top_p", "eos", "seed"))
    if not isinstance(temperature, int | float) or not 0 <= temperature < float("inf"):
        raise ValueError(f"{model}: temperature is {temperature!r}, but must be a number, 0 or more")
    if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
        raise ValueError(f"{model}: top_k is {top_k!r}, but must be a whole number, 1 or more")
    if top_p is not None and not (isinstance(top_p, int | float) and 0 < top_p <= 1):
        raise ValueError(f"{model}: top_p is {top_p!r}, but must be more than 0 and at most 1")
    if not temperature and (top_k is not None or top_p is not None):
        raise ValueError(f"{model}: with temperature 0 nothing is drawn: give a temperature, or no top_k and top_p")
    if eos is not None and not (isinstance(eos, int) and 0 <= eos < size):
        raise ValueError(f"{model}: eos is {eos!r}, but must be an index into {vocab} (0..{size - 1})")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ValueError(f"{model}: seed is {seed!r}, but must be a whole number")


def check_beams(model: str, beams: int, penalty: float, options: dict[str, Any]) -> None:
    """Refuses options of a beam search that make no sense."""
    if isinstance(beams, bool) or not isinstance(beams, int) or beams < 1:
        raise ValueError(f"{model}: beams is {beams!r}, but must be a whole number, 1 or more")
    if not isinstance(penalty, int | float) or not abs(penalty) < float("inf"):
        raise ValueError(f"{model}: length_penalty is {penalty!r}, but must be a number")
    if beams > 1 and options["temperature"]:  # without one there is no top_k or top_p
        raise ValueError(f"{model}: a beam search draws nothing: leave beams out, or temperature, top_k and top_p")


def prompt_rows(decodes: Decodes, prompt: Any, array: Any) -> tuple[list[Any], bool]:
    """The prompts as arrays of one dimension, and whether there is one alone, without a batch.

    array: makes an array of one of numbers. What comes of no numbers, or of lists that are uneven, is refused.
    """
    model, name, axis, vocab = decodes.model, decodes.prompt, decodes.axis, decodes.vocab
    prompt = list(map(plain, prompt)) if isinstance(prompt, list | tuple) else prompt
    listed = isinstance(prompt, list) and len(prompt) and hasattr(prompt[0], "__len__")
    try:
        found: Any = [array(row) for row in prompt] if listed else array(prompt)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        wanted = f"[{axis}], [batch, {axis}], or a list of prompts"
        raise TypeError(f"{model}: `{name}` must hold integers, indices into {vocab}: {wanted}") from None
    if not listed and not found.shape:
        raise ValueError(
            f"{model}: `{name}` is one number, but a prompt is [{axis}], or [batch, {axis}]: [{plain(found)}]"
        )
    single = not listed and len(found.shape) == 1
    if not listed and not single and len(found.shape) != 2:
        raise ValueError(f"{model}: `{name}` has rank {len(found.shape)}, but a prompt is [{axis}], or [batch, {axis}]")
    rows = [found] if single else list(found)
    if not rows:
        raise ValueError(f"{model}: there is no prompt")
    for number, row in enumerate(rows):
        if len(row.shape) != 1:
            shown = f"{model}: `{name}`" + ("" if single else f", prompt {number}")
            raise ValueError(f"{shown} has rank {len(row.shape)}, but a prompt is [{axis}], or [batch, {axis}]")
    return rows, single


def check_rows(decodes: Decodes, rows: list[Any], single: bool, integral: Any, max_new: int) -> None:
    """Refuses prompts that are empty, too long, or hold what is no index. integral: whether an array is of integers."""
    model, name, axis, longest, vocab, size, *_ = decodes
    for number, row in enumerate(rows):
        shown = f"{model}: `{name}`" + ("" if single else f", prompt {number}")
        if not len(row):
            raise ValueError(f"{shown} is empty: it needs at least one item of {axis}")
        if not integral(row):
            raise TypeError(f"{shown} is {row.dtype}, but must hold integers: indices into {vocab}")
        bad = (row < 0) | (row >= size)
        if bad.any():
            raise IndexError(f"{shown}: {int(row[bad][0])} is no index into {vocab} (0..{size - 1})")
    total = max(len(row) for row in rows) + max_new - 1
    if longest is not None and total > longest:
        raise ValueError(
            f"{model}: the prompt and {max_new} new items make {axis} = {total}, but {axis} is at most {longest}"
        )


def reordered(model: str, batch: tuple[int, ...] | None, rows: Any) -> tuple[int, ...]:
    """The batch axes of a cache whose first has been put in another order; refuses rows that are none of it."""
    if not batch:
        raise ValueError(f"{model}: reorder: the cache has no batch, or no step yet")
    wrong = [row for row in rows if not 0 <= int(row) < batch[0]]
    if wrong:
        raise IndexError(f"{model}: reorder: {int(wrong[0])} is no row of the batch (0..{batch[0] - 1})")
    return len(rows), *batch[1:]


def check_batch(model: str, cache: Any, rows: int, prompts: int | None) -> None:
    """Refuses other inputs whose batch is not that of the prompts, each of which may have several rows of the cache.

    prompts: how many there are; None for one without a batch.
    """
    if cache.batch is not None and tuple(cache.batch) != (rows,):
        first = () if prompts is None or not cache.batch else (prompts,)
        there = "is one prompt, without a batch" if prompts is None else f"are {prompts} prompts"
        given = (*first, *cache.batch[1:])
        raise ValueError(f"{model}: the other inputs have the batch axes {given}, but there {there}")
