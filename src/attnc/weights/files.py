"""Weights in safetensors files (https://huggingface.co/docs/safetensors): the library reads headers and writes files.

Ours is what it has not: arrays mapped into memory for NumPy, several files as one, a file written whole or not at all.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from ..backends.loading.load import WeightsError
from ..backends.loading.memory import MappedFile, as_array, mapped_anew
from ..dsl.base.escapes import escaped
from ..dsl.files import whole
from ..dsl.nested import from_json

Array = np.ndarray[Any, np.dtype[Any]]

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "C64": np.dtype("<c8"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
_INDEX = ".index.json"
_METADATA = "__metadata__"


class Weights(Mapping[str, Array]):
    """The arrays of a file by name, read-only and mapped into memory: the disk is read where an array is looked at.

    metadata: what the file says of itself.

    Arrays have the types of the file; bfloat16 is `ml_dtypes.bfloat16`, with which NumPy computes.
    """

    def __init__(self, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
        self._arrays = dict(arrays)
        self.metadata = dict(metadata)

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self._arrays.values())
        return f"<attnc.Weights: {len(self)} arrays, {size:,} bytes>"


# -- writing -------------------------------------------------------------------------------------------------------


def save(path: str | os.PathLike[str], weights: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file: all of it or nothing, through a file beside it that is then renamed.

    weights:  {name: array or torch tensor}. What is in one piece is written from where it lies; the rest is copied.
    metadata: text about them.

    Raises WeightsError for what is not given by name, and for what the format does not hold (other kinds of arrays,
    names and metadata that are no text, the name `__metadata__`); OSError if the file cannot be written.
    """
    if not isinstance(weights, Mapping):
        raise WeightsError(f"cannot save a {type(weights).__name__}: give a dict of arrays, such as a `state_dict()`")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise WeightsError(f"cannot save a {type(metadata).__name__} as metadata: give a dict of texts")
    for key, text in (metadata or {}).items():
        if not _is_text(key) or not _is_text(text):
            raise WeightsError(f"cannot save metadata {_shown(key)}: {_shown(text)}: both must be text")
    arrays = {name: _saved(name, value) for name, value in weights.items()}

    target = Path(path).resolve()
    if not target.parent.is_dir():  # or it is the file that is said not to be there
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    with whole(path) as file:
        _write(file, arrays, dict(metadata) if metadata else None)


def save_parts(
    folder: Path, stem: str, parts: Iterable[Mapping[str, Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """`save` to STEM.safetensors in the folder; of several parts to a file each, and an index as the hub has it.

    Raises as `save` does. A part may be let go of when the next one is asked for.
    """
    listed: list[list[str]] = []
    for part in parts:
        save(folder / f"{len(listed)}.part", part, metadata)
        listed.append([*part])
    if len(listed) == 1:
        (folder / "0.part").rename(folder / f"{stem}.safetensors")
        return
    index: dict[str, str] = {}
    for number, names in enumerate(listed):
        file = f"{stem}-{number + 1:05}-of-{len(listed):05}.safetensors"
        (folder / f"{number}.part").rename(folder / file)
        index |= dict.fromkeys(names, file)
    size = sum(file.stat().st_size for file in folder.glob(f"{stem}-*.safetensors"))
    told = {"metadata": {"total_size": size}, "weight_map": index}
    (folder / f"{stem}.safetensors{_INDEX}").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def largest_file(path: Path) -> int:
    """The bytes of a safetensors file, or of the largest that an index lists."""
    if not path.name.endswith(_INDEX):
        return path.stat().st_size
    return max(path.with_name(file).stat().st_size for file in {*_listed(path).values()})


def _write(path: Path, arrays: dict[str, Array], metadata: dict[str, str] | None) -> None:
    """A file that can be read, and that is on the disk. Raises WeightsError, OSError."""
    try:
        if path.exists():  # a device or a pipe, in whose place the library would put a file
            path.write_bytes(safetensors.numpy.save(arrays, metadata))
            return
        with open(path, "xb") as out:  # so that it is Python who says why it cannot be written
            mode = os.fstat(out.fileno()).st_mode
        safetensors.numpy.save_file(arrays, path, metadata)
        with safe_open(path, "np"):
            pass
    except SafetensorError as wrong:
        system = re.search(r"\(os error (\d+)\)", str(wrong))
        if system is not None:
            raise OSError(int(system[1]), os.strerror(int(system[1]))) from None
        raise WeightsError(f"cannot save: {_words(wrong)}") from None
    path.chmod(stat.S_IMODE(mode))  # the library's files are their owner's alone
    with open(path, "r+b") as out:
        os.fsync(out.fileno())


def _saved(name: Any, value: Any) -> Array:
    """An array as the library wants it: in one piece, of a type that the format has. Raises WeightsError."""
    if not _is_text(name) or name == _METADATA:
        raise WeightsError(
            f"cannot save {_shown(name)}: " + ("the format keeps that name" if name == _METADATA else "a name is text")
        )
    try:
        array = as_array(value)
    except (TypeError, ValueError, RuntimeError) as wrong:  # torch's own: sparse, quantised or without memory
        raise WeightsError(f"cannot save {_shown(name)}: {_one_line(str(wrong))}") from None
    if array.dtype.newbyteorder("<") not in _DTYPES.values():
        raise WeightsError(f"cannot save {_shown(name)}: safetensors has no {array.dtype}")
    mapping = None if array.flags.c_contiguous else mapped_anew(array)  # what is read there to be copied leaves memory
    return np.require(array if mapping is None else mapping, requirements="C")


def _is_text(value: Any) -> bool:
    """Whether it is text that UTF-8 can hold."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


# -- reading -------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Weights:
    """The weights in a safetensors file, or in several, as their `....safetensors.index.json` lists them.

    Raises WeightsError, in one line, if the file is not what the format says: truncated, overlapping, of an unknown
    kind. It is checked as a whole before anything of it is given. OSError if it cannot be read, or is no file.
    """
    file = Path(path)
    if file.name.endswith(_INDEX):
        return Weights(_load_parts(file), {})
    return Weights(*_load_file(file))


def _load_parts(index: Path) -> dict[str, Array]:
    """The arrays of the files that an index lists: {"weight_map": {name: file beside the index}}."""

    parts = _listed(index)
    files = {part: _load_file(index.with_name(part))[0] for part in dict.fromkeys(parts.values())}
    for name, part in parts.items():
        if name not in files[part]:
            _no_index(index, f"{_shown(name)} is not in {part}")
    return {name: files[part][name] for name, part in parts.items()}


def _listed(index: Path) -> dict[str, str]:
    """The file of each name, all beside the index. Raises WeightsError."""
    _require_file(index)
    try:
        listed = from_json(index.read_bytes())
    except ValueError as wrong:
        _no_index(index, _one_line(str(wrong)))
    parts = listed.get("weight_map") if isinstance(listed, dict) else None
    if not isinstance(parts, dict) or not parts:
        _no_index(index, "it has no weight_map of names to files")
    for name, part in parts.items():
        if not isinstance(part, str):
            _no_index(index, f"the file of {_shown(name)} is {_shown(part)}, where the name of one is needed")
        if not part or part != Path(part).name or not part.isprintable():
            _no_index(index, f"{_shown(part)} is not beside it")
    return parts


def _no_index(index: Path, why: str) -> NoReturn:
    raise WeightsError(f"{index} is not a readable index of safetensors: {why}")


def _load_file(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of one file, views into its mapping, and its metadata."""

    def broken(why: str) -> NoReturn:
        raise WeightsError(f"{path} is not a readable safetensors file: {why}")

    _require_file(path)
    if path.stat().st_size == 0:
        broken("it is empty")
    content = MappedFile(path)
    try:
        with safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            headers = [(name, file.get_slice(name)) for name in file.offset_keys()]
            kinds = [(name, entry.get_dtype(), tuple(entry.get_shape())) for name, entry in headers]
    except SafetensorError as wrong:
        broken(_words(wrong))
    for name, kind, _ in kinds:
        if kind not in _DTYPES:
            broken(f"{_shown(name)} is of the kind {kind}, which NumPy has not")
    sizes = [_DTYPES[kind].itemsize * _count(shape) for _, kind, shape in kinds]
    at = content.size - sum(sizes)  # arrays stand one after another, up to the end: the library has seen to that
    arrays: dict[str, Array] = {}
    for (name, kind, shape), size in zip(kinds, sizes, strict=True):
        try:
            array = np.asarray(content[at : at + size]).view(_DTYPES[kind]).reshape(shape)
        except ValueError:  # more axes than NumPy has, or no bytes but an extent beyond its own
            broken(f"{_shown(name)} has no proper shape")
        array.flags.writeable = False
        arrays[name] = array
        at += size
    return arrays, metadata


def _require_file(path: Path) -> None:
    """Raises OSError for a pipe, which may never begin, and for a device, which may never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "this is a device or a pipe, not a file", str(path))


def _words(wrong: SafetensorError) -> str:
    """What the library says, in one line."""
    text = (
        _one_line(str(wrong))
        .removeprefix("Error while deserializing header: ")
        .removeprefix("Error while serializing: ")
    )
    return f"{text}: is it truncated?" if text.startswith(("incomplete metadata", "invalid header length")) else text


def _one_line(text: str) -> str:
    text = escaped(text)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _shown(name: Any) -> str:
    """A name from a file, fit for one line of a terminal."""
    text = ascii(name)
    return text if len(text) <= 100 else f"{text[:97]}..."
