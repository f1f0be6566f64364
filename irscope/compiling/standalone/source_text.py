"""A kernel's first IR as text: generated in the program, compiled in processes that know only the text.

Generating it needs the program's functions, closures and globals; everything after it does not. Triton's
pipeline makes the same machine code of a module and of its text, and the cache key is that of the program.
"""

from __future__ import annotations

import tempfile
from typing import Any

from irscope.model import UserError
from irscope.model.records import frozen


@frozen
class SourceText:
    """The module that a source generates, as text, with what Triton's cache needs of the source.

    `digest` is the hash of the source (`ASTSource.hash`), `extension` the stage of the text ("ttir",
    "ttgir"), `language` the name of Triton's Language.
    """

    name: str
    digest: str
    extension: str
    language: str
    text: str


class GeneratedTexts:
    """The texts of sources. Sources that differ only in options that nobody reads share one.

    Generating IR is Python code: for a typical kernel it takes a quarter of the passes before LLVM.
    """

    def __init__(self) -> None:
        self._texts: dict[str, list[tuple[dict[str, Any], str]]] = {}

    def text(self, source: Any, options: Any, target: Any) -> str:
        """Return the text of the module that `source` generates.

        Raises whatever the kernel's code raises.
        """
        generated = self._texts.setdefault(source.hash(), [])
        values = vars(options)
        for read, text in generated:
            if all(values.get(name) == value for name, value in read.items()):
                return text
        recorded, read_names = _recording(options)
        text = str(_generate(source, recorded, target))
        everything = "__dict__" in read_names
        generated.append(({k: v for k, v in values.items() if everything or k in read_names}, text))
        return text


def _recording(options: Any) -> tuple[Any, set[str]]:
    """Copy a backend's options so that the copy records which attributes are read.

    Returns the copy, and the set to which it adds the name of each attribute that is read.
    """
    names: set[str] = set()

    class RecordingOptions(type(options)):  # type: ignore[misc] # the class of a backend
        def __getattribute__(self, name: str) -> Any:
            names.add(name)
            return super().__getattribute__(name)

    copy = object.__new__(RecordingOptions)
    object.__getattribute__(copy, "__dict__").update(vars(options))
    return copy, names


def _generate(source: Any, options: Any, target: Any) -> Any:
    """Generate the module of `source`, as `triton.compile` does."""
    from triton._C.libtriton import ir
    from triton.compiler import make_backend

    backend, context = make_backend(target), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions = backend.get_codegen_implementation(options)
    return source.make_ir(target, options, functions, backend.get_module_map(), context)


def parse_module(text: str, context: Any) -> Any:
    """Parse the module that `text` writes. Raises UserError if MLIR cannot read it."""
    from triton._C.libtriton import ir

    with tempfile.NamedTemporaryFile("w", suffix=".mlir", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            module = ir.parse_mlir_module(file.name, context)
        except RuntimeError as error:
            raise UserError(f"MLIR cannot read the text that it wrote: {error}") from error
    module.context = context
    return module


def as_source(source: SourceText) -> Any:
    """Return an ASTSource that `triton.compile` handles like the source that the text is from.

    It is compiled and cached the same.
    """
    from triton.compiler import ASTSource

    class TextSource(ASTSource):  # type: ignore[misc] # Triton's class has no types
        def __init__(self) -> None:
            self.name, self.ext, self.language = source.name, source.extension, language_of(source)
            self.fn: Any = None  # nothing asks for it, nor for the signature: the hash is known

        def hash(self) -> str:
            return source.digest

        def make_ir(self, *arguments: Any) -> Any:
            return parse_module(source.text, arguments[-1])

    return TextSource()


def language_of(source: SourceText) -> Any:
    """Triton's Language of a source."""
    from triton.backends.compiler import Language

    return Language[source.language]
