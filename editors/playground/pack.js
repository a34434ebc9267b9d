// Compiles a folder of Python (first argument) with the very Python that will run it, and packs it (second argument).
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.FS.mkdir("/site");
python.unpackArchive(new Uint8Array(readFileSync(process.argv[2])), "zip", { extractDir: "/site" });
const packed = python.runPython(`
import compileall, io, pathlib, py_compile, zipfile
done = compileall.compile_dir("/site", quiet=1, stripdir="/site", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
assert done, "a file does not compile"
made = io.BytesIO()
with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
    for file in sorted(pathlib.Path("/site").rglob("*")):
        if file.is_file():
            entry = zipfile.ZipInfo(file.relative_to("/site").as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, file.read_bytes())
made.getvalue()
`);
writeFileSync(process.argv[3], packed.toJs());
process.exit(0);
