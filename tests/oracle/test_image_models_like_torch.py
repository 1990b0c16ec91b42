"""Image models beside PyTorch, number by number, and beside torchvision and timm where these are installed."""

import numpy as np
import pytest

import retrograde as rg
from image_cases import CASES, assert_agree, recorded, results_of, spelled, summed, weight
from retrograde.models import images

torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
torch_images = pytest.importorskip("torch_images")

OF_TORCHVISION = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2", "vit_b_16", "vit_b_32")
OF_TIMM = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenetv2_100", "vit_tiny_patch16_224",
           "vit_small_patch16_224", "vit_base_patch16_224", "vit_base_patch32_224")


@pytest.mark.parametrize("case", CASES)
def test_logits_gradients_and_statistics_are_those_of_torch(case):
    assert_agree(results_of(case), torch_images.results_of_torch(case))


@pytest.mark.parametrize("case", CASES)
def test_what_is_recorded_of_the_libraries_is_what_torch_gives(case):
    assert_agree(summed(torch_images.results_of_torch(case)), recorded()[case])


@pytest.mark.long
@pytest.mark.parametrize("name", OF_TORCHVISION)
def test_networks_of_torchvision_load_with_their_logits(name, tmp_path):
    torchvision = pytest.importorskip("torchvision", reason="an oracle that is no dependency")
    theirs = with_weights(getattr(torchvision.models, name)())
    rg.save(numpy_of(theirs.state_dict()), tmp_path / "model.safetensors")
    assert_same_logits(images.load(tmp_path / "model.safetensors", name), theirs, name)


@pytest.mark.long
@pytest.mark.parametrize("name", OF_TIMM)
def test_folders_of_timm_load_with_their_logits(name, tmp_path):
    timm = pytest.importorskip("timm", reason="an oracle that is no dependency")
    theirs = with_weights(timm.create_model(name, num_classes=7))
    timm.models.save_for_hf(theirs, tmp_path, safe_serialization=True)
    ours = images.load(tmp_path)
    assert_same_logits(ours, theirs, name)
    if name != "mobilenetv2_100":
        assert spelled(ours.state_dict()) == spelled(theirs.state_dict())


@pytest.mark.parametrize("size", [160, 320])
def test_images_of_another_size_have_the_logits_of_timm(size, tmp_path):
    timm = pytest.importorskip("timm", reason="an oracle that is no dependency")
    theirs = with_weights(timm.create_model("vit_tiny_patch16_224", num_classes=7))
    timm.models.save_for_hf(theirs, tmp_path, safe_serialization=True)
    theirs.set_input_size(size)
    ours = images.load(tmp_path, image_size=size)
    x = np.random.default_rng(0).standard_normal((2, 3, size, size)).astype(np.float32)
    with torch.no_grad():
        wanted = theirs.eval()(torch.tensor(x)).numpy()
    np.testing.assert_allclose(ours(rg.tensor(x)).detach().numpy(), wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2_100", "vit_tiny_patch16_224"])
def test_pixels_are_made_ready_as_by_timm(name, tmp_path):
    timm, pillow = pytest.importorskip("timm", reason="an oracle that is no dependency"), pytest.importorskip("PIL.Image")
    theirs = timm.create_model(name)
    timm.models.save_for_hf(theirs, tmp_path, safe_serialization=True)
    ready = timm.data.create_transform(**timm.data.resolve_data_config({}, model=theirs))
    pixels = np.random.default_rng(0).integers(0, 256, (3, 300, 410), np.uint8)
    ours = images.preprocess_of(tmp_path)
    found = ours(pixels) - ready(pillow.fromarray(pixels.transpose(1, 2, 0))).numpy()
    # Pillow rounds to one of 255 levels, twice.
    assert np.abs(found * np.array(ours.std)[:, None, None] * 255).max() < 2


def with_weights(theirs):
    """A network of PyTorch's with weights by their names."""
    theirs.load_state_dict({name: torch.tensor(weight(name, tuple(x.shape))) for name, x in theirs.state_dict().items()})
    return theirs.eval()


def numpy_of(state):
    """A state as arrays."""
    return {name: x.numpy() for name, x in state.items()}


def assert_same_logits(ours, theirs, name):
    """Fail unless two networks say the same of images."""
    x = np.random.default_rng(0).standard_normal((1, 3, *([224] if "vit" in name else [64]) * 2), np.float32)
    with torch.no_grad(), rg.no_grad():
        found, expected = ours(rg.tensor(x)).numpy(), theirs(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
