import json
import zlib

import numpy as np
import pytest

import retrograde as rg
from image_cases import (
    CASES,
    assert_agree,
    drawn,
    ours_of,
    recorded,
    recorded_keys,
    recorded_sums,
    results_of,
    spelled,
    summed,
    weight,
)
from retrograde.models import images
from retrograde.models.images.keys import renamed
from retrograde.models.images.named import ARCHITECTURES

#: By large network how many tensors it has, how many numbers are learned, and some of its tensors.
LARGE = {
    "resnet18": (122, 11_689_512, ("conv1.weight [64, 3, 7, 7]", "layer2.0.downsample.0.weight [128, 64, 1, 1]", "fc.bias [1000]")),
    "resnet34": (218, 21_797_672, ("layer3.5.conv2.weight [256, 256, 3, 3]", "layer4.2.bn2.running_var [512]")),
    "resnet50": (320, 25_557_032, ("layer1.0.downsample.1.weight [256]", "layer4.0.conv2.weight [512, 512, 3, 3]")),
    "resnet101": (626, 44_549_160, ("layer3.22.conv3.weight [1024, 256, 1, 1]", "fc.weight [1000, 2048]")),
    "resnet152": (932, 60_192_808, ("layer2.7.conv1.weight [128, 512, 1, 1]", "layer3.35.bn1.bias [256]")),
    "mobilenet_v2": (314, 3_504_872, ("features.0.0.weight [32, 3, 3, 3]", "features.1.conv.0.0.weight [32, 1, 3, 3]",
                                      "features.17.conv.2.weight [320, 960, 1, 1]", "classifier.1.weight [1000, 1280]")),
    "vit_tiny_patch16_224": (152, 5_717_416, ("cls_token [1, 1, 192]", "pos_embed [1, 197, 192]", "blocks.11.attn.qkv.bias [576]")),
    "vit_small_patch16_224": (152, 22_050_664, ("patch_embed.proj.weight [384, 3, 16, 16]", "blocks.0.norm1.weight [384]")),
    "vit_base_patch16_224": (152, 86_567_656, ("blocks.3.mlp.fc1.weight [3072, 768]", "head.weight [1000, 768]")),
    "vit_base_patch32_224": (152, 88_224_232, ("patch_embed.proj.weight [768, 3, 32, 32]", "pos_embed [1, 50, 768]"))}
#: Those that take little time to make.
QUICK = ("resnet18", "mobilenet_v2", "vit_tiny_patch16_224")


@pytest.mark.parametrize("case", CASES)
def test_logits_gradients_and_statistics_are_those_of_torchvision_and_timm(case):
    assert_agree(summed(results_of(case)), recorded()[case])


@pytest.mark.parametrize("case", [pytest.param(case, marks=() if case in ("MobileNetV2", "VisionTransformer") else pytest.mark.long)
                                  for case in CASES])
def test_compiled_networks_give_what_eager_ones_give(case):
    assert_agree(results_of(case, compiles=True), results_of(case))


def test_a_number_that_is_off_is_found():
    found = recorded()["VisionTransformer"]
    found["gradient head.bias"] = found["gradient head.bias"] * 1.001
    with pytest.raises(AssertionError, match=r"head\.bias"):
        assert_agree(found, recorded()["VisionTransformer"])


@pytest.mark.parametrize("case", [case for case in CASES if "UNet" not in case])
def test_keys_shapes_and_dtypes_are_those_of_torchvision_and_timm_in_their_order(case):
    assert spelled(CASES[case][0]().state_dict()) == recorded_keys(case)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in LARGE])
def test_large_networks_have_the_tensors_of_torchvision_and_timm(name):
    network, (tensors, learned, some) = images.create(name), LARGE[name]
    lines = spelled(network.state_dict())
    assert len(lines) == tensors
    assert sum(parameter.size for parameter in network.parameters()) == learned
    assert {f"{line} float32" for line in some} <= {*lines}
    assert zlib.crc32("\n".join(lines).encode()) == recorded_sums()[name]


def test_all_large_networks_are_held_to_their_tensors():
    assert {*LARGE} == {*ARCHITECTURES} - {"unet"} == {*recorded_sums()}


@pytest.mark.parametrize(("bilinear", "lines"), [
    (False, ("inc.double_conv.0.weight [4, 3, 3, 3]", "down4.maxpool_conv.1.double_conv.3.weight [64, 64, 3, 3]",
             "up1.up.weight [64, 32, 2, 2]", "up1.conv.double_conv.0.weight [32, 64, 3, 3]", "outc.conv.bias [2]")),
    (True, ("down4.maxpool_conv.1.double_conv.4.running_mean [32]", "up1.conv.double_conv.0.weight [32, 64, 3, 3]",
            "up1.conv.double_conv.3.weight [16, 32, 3, 3]", "up4.conv.double_conv.3.weight [4, 4, 3, 3]"))])
def test_a_unet_has_the_keys_of_its_project(bilinear, lines):
    found = spelled(images.UNet(width=4, bilinear=bilinear).state_dict())
    places = ["inc", *[f"down{i}.maxpool_conv.1" for i in range(1, 5)], *[f"up{i}.conv" for i in range(1, 5)]]
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    names = {f"{place}.double_conv.{i}.weight" for place in places for i in (0, 3)}
    names |= {f"{place}.double_conv.{i}.{part}" for place in places for i in (1, 4) for part in norm}
    names |= set() if bilinear else {f"up{i}.up.{part}" for i in range(1, 5) for part in ("weight", "bias")}
    assert {line.split()[0] for line in found} == names | {"outc.conv.weight", "outc.conv.bias"}
    assert {f"{line} float32" for line in lines} <= {*found}


@pytest.mark.parametrize("case", CASES)
def test_a_state_in_a_file_makes_the_same_network_again(case, tmp_path):
    network = ours_of(case)
    rg.save(network, tmp_path / "weights.safetensors")
    again = CASES[case][0]()
    again.load_state_dict(rg.load(tmp_path / "weights.safetensors"))
    for (name, x), (other, y) in zip(network.state_dict().items(), again.state_dict().items(), strict=True):
        assert name == other
        np.testing.assert_array_equal(x.numpy(), y.numpy())


def folder_of(folder, state, **facts):
    """A folder as timm's are."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(facts))
    rg.save(state, folder / "model.safetensors")
    return folder


def test_a_folder_of_timms_mobilenet_has_its_keys_renamed(tmp_path):
    # Both name their tensors in the order in which an image meets them.
    ours = [line.split()[0] for line in spelled(images.create("mobilenet_v2", num_classes=7).state_dict())]
    theirs = [line.split()[0] for line in recorded_keys("mobilenetv2_100")]
    network = images.create("mobilenet_v2", num_classes=7)
    state = {name: weight(name, x.shape) for name, x in network.state_dict().items()}
    folder = folder_of(tmp_path, dict(zip(theirs, state.values(), strict=True)), architecture="mobilenetv2_100", num_classes=7)
    found = images.load(folder)
    assert not found.training
    assert not {*ours} & {*theirs}
    for name, x in found.state_dict().items():
        np.testing.assert_array_equal(x.numpy(), state[name], err_msg=name)


def test_keys_of_torchvisions_vision_transformers_become_timms():
    lines = dict([line.split(maxsplit=1) for line in recorded_keys("vit_b_16")])
    found, order = renamed(lines), images.VisionTransformer(embed_dim=12).state_dict()
    assert {*found} == {*order}
    ours = [f"{name} {found[name]}" for name in order]
    assert zlib.crc32("\n".join(ours).encode()) == recorded_sums()["vit_base_patch16_224"]
    # Within a block tensors of one shape follow each other in the same order.
    assert [name for name in found if name.startswith("blocks.")] == [name for name in order if name.startswith("blocks.")]
    older = {name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): rest for name, rest in lines.items()}
    assert list(renamed(older)) == list(found)


@pytest.mark.parametrize("case", ["MobileNetV2", "VisionTransformer", "UNet", pytest.param("ResNet of bottlenecks", marks=pytest.mark.long)])
def test_models_written_as_onnx_give_the_same_for_another_batch(case, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="what runs ONNX comes with the extra `test`")
    network, (batch, *shape) = ours_of(case).eval(), CASES[case][1]
    rg.onnx.export(network, (rg.zeros(batch, *shape),), tmp_path / "model.onnx")
    session, x = runtime.InferenceSession(tmp_path / "model.onnx"), drawn((batch + 1, *shape), 2)
    found, expected = session.run(None, {session.get_inputs()[0].name: x})[0], network(rg.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


TINY = {"image_size": 32, "patch_size": 8, "embed_dim": 12, "depth": 1, "num_heads": 3, "num_classes": 5}


def test_files_in_half_precision_or_without_counts_of_batches_are_loaded(tmp_path):
    network = images.create("resnet18", num_classes=5, width=4)
    state = {name: x.numpy() for name, x in network.state_dict().items() if "num_batches" not in name}
    rg.save({name: x.astype(np.float16) for name, x in state.items()}, tmp_path / "half.safetensors")
    found = images.load(tmp_path / "half.safetensors", "resnet18", num_classes=5, width=4).state_dict()
    assert {str(x.dtype) for name, x in found.items() if name in state} == {"float32"}
    np.testing.assert_allclose(found["fc.weight"].numpy(), state["fc.weight"], rtol=1e-3)


def test_tensors_that_do_not_fit_are_told_from_both_sides(tmp_path):
    state = {name: x.numpy() for name, x in images.VisionTransformer(**TINY).state_dict().items()}
    state["head.heavy"] = state.pop("head.bias")
    state["pos_embed"] = state["pos_embed"][:, 1:]
    rg.save(state, tmp_path / "model.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=r"model\.safetensors.*VisionTransformer") as caught:
        images.load(tmp_path / "model.safetensors", "vit_tiny_patch16_224", **TINY)
    for part in ("pos_embed has shape (1, 16, 12) and the model needs (1, 17, 12)", "no tensor for head.bias", "no place for head.heavy"):
        assert part in str(caught.value)


@pytest.mark.parametrize(("facts", "message"), [
    ({"architectures": ["ViTForImageClassification"], "model_type": "vit"}, "no architecture.*architectures, model_type"),
    ({"architecture": ["resnet18"]}, "no architecture"), ({"architecture": "resnet18", "num_classes": "ten"}, "num_classes 'ten'"),
    ({"architecture": "convnext_tiny"}, "'convnext_tiny', and retrograde knows mobilenet_v2.*vit_tiny"),
    ({"architecture": "vit_tiny_patch16_224", "model_args": {"qk_norm": True}}, "model_args with qk_norm = True.*another network"),
    ({"architecture": "resnet18", "model_args": {"img_size": 64}}, "model_args with img_size"),
    ({"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": [224, 192]}}, r"img_size \[224, 192\].*square"),
    ({"architecture": "vit_tiny_patch16_224", "model_args": {"global_pool": "avg"}}, "global_pool 'avg'"),
    ({"architecture": "resnet18", "model_args": [1]}, "no arguments by name"),
    ({"architecture": "vit_tiny_patch16_224", "global_pool": "avg"}, "global_pool 'avg', and retrograde's vit_tiny_patch16_224 has 'token'"),
    ({"architecture": "resnet18", "global_pool": "max"}, "global_pool 'max'")])
def test_folders_of_networks_that_are_not_known_are_refused(facts, message, tmp_path):
    folder = folder_of(tmp_path / "model", {"x": np.zeros(1)}, **facts)
    with pytest.raises(rg.errors.CheckpointError, match=message):
        images.load(folder)


def test_a_folder_of_timms_may_say_other_sizes(tmp_path):
    sizes = {"patch_size": 8, "embed_dim": 12, "depth": 1, "num_heads": 3}
    network = images.VisionTransformer(32, num_classes=5, in_channels=1, **sizes).eval()
    folder = folder_of(tmp_path, network, architecture="vit_tiny_patch16_224", num_classes=5, global_pool="token", model_args={
        "in_chans": 1, "num_classes": 5, "global_pool": "token", "img_size": [32, 32], **sizes})
    x = rg.randn(2, 1, 32, 32)
    np.testing.assert_array_equal(images.load(folder)(x).detach().numpy(), network(x).detach().numpy())


@pytest.mark.parametrize(("size", "dtype"), [(48, np.float32), (16, np.float32), (64, np.float16)])
def test_positions_are_interpolated_to_the_size_that_is_asked_for(size, dtype, tmp_path):
    """As Pillow resizes images of floats, by the same filter as timm; the vector of the class has no place in the image."""
    pillow = pytest.importorskip("PIL.Image")
    sizes = {"patch_size": 8, "embed_dim": 6, "depth": 1, "num_heads": 3, "num_classes": 5}
    network = images.VisionTransformer(32, **sizes)
    state = {name: x.numpy().astype(dtype) for name, x in network.state_dict().items()}
    rg.save(state, tmp_path / "weights.safetensors")
    found = images.load(tmp_path / "weights.safetensors", "vit_tiny_patch16_224", image_size=size, **sizes)
    assert found(rg.ones(2, 3, size, size)).shape == (2, 5)
    given, side = state["pos_embed"].astype(np.float32)[0], size // 8
    channels = given[1:].reshape(4, 4, 6).transpose(2, 0, 1)
    wanted = np.stack([np.array(pillow.fromarray(channel).resize((side, side), pillow.Resampling.BICUBIC)) for channel in channels])
    positions = found.pos_embed.detach().numpy()[0]
    np.testing.assert_array_equal(positions[0], given[0])
    np.testing.assert_allclose(positions[1:], wanted.reshape(6, -1).T, atol=1e-6)


def test_positions_of_another_size_are_refused_where_none_is_asked_for(tmp_path):
    sizes = {"patch_size": 8, "embed_dim": 6, "depth": 1, "num_heads": 3, "num_classes": 5}
    state = images.VisionTransformer(224, **sizes).state_dict()
    rg.save({**state, "pos_embed": state["pos_embed"][:, :17]}, tmp_path / "weights.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=r"pos_embed has shape \(1, 17, 6\) and the model needs \(1, 785, 6\)"):
        images.load(tmp_path / "weights.safetensors", "vit_tiny_patch16_224", **sizes)
    rg.save({**state, "pos_embed": state["pos_embed"][:, :16]}, tmp_path / "other.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=r"pos_embed has shape \(1, 16, 6\)"):  # of no square
        images.load(tmp_path / "other.safetensors", "vit_tiny_patch16_224", image_size=32, **sizes)


def test_files_that_are_missing_or_say_too_little_are_refused(tmp_path):
    rg.save({"x": np.zeros(1)}, tmp_path / "weights.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match="of what architecture"):
        images.load(tmp_path / "weights.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=r"config\.json"):
        images.load(tmp_path)
    (tmp_path / "config.json").write_text('{"architecture": "resnet18"}')
    with pytest.raises(rg.errors.CheckpointError, match=r"model\.safetensors"):
        images.load(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(rg.errors.CheckpointError, match=r"pytorch_model\.bin, a pickle.*convert"):
        images.load(tmp_path)
    with pytest.raises(rg.errors.ArgumentError, match=r"'resnet19'; there are .*resnet18"):
        images.create("resnet19")


@pytest.mark.parametrize(("shape", "dtype", "message"), [
    ((1, 3, 16, 32), "float32", r"VisionTransformer needs images of shape \(batch, 3, 32, 32\), got \(1, 3, 16, 32\)"),
    ((3, 32, 32), "float32", r"got \(3, 32, 32\)"), ((1, 32, 32, 3), "float32", r"got \(1, 32, 32, 3\)"),
    ((1, 3, 32, 32), "uint8", "floats, got uint8; .*Preprocess")])
def test_images_that_do_not_fit_are_refused(shape, dtype, message):
    with pytest.raises((rg.errors.ShapeError, rg.errors.DTypeError), match=message):
        images.VisionTransformer(**TINY)(rg.zeros(shape, dtype=dtype))


@pytest.mark.parametrize("network", [lambda: images.create("resnet18", width=4), lambda: images.UNet(width=4),
                                     lambda: images.MobileNetV2(width=0.25, stages=((1, 16, 1, 1),))])
def test_images_of_other_channels_are_refused(network):
    with pytest.raises(rg.errors.ShapeError, match=r"\(batch, 3, height, width\), got \(1, 1, 32, 32\)"):
        network()(rg.zeros(1, 1, 32, 32))


def test_sizes_that_make_no_network_are_refused():
    with pytest.raises(rg.errors.ArgumentError, match="patch_size must divide image_size, got 16 and 40"):
        images.VisionTransformer(image_size=40)
    with pytest.raises(rg.errors.ArgumentError, match="num_heads must divide embed_dim, got 5 and 768"):
        images.VisionTransformer(num_heads=5)
    with pytest.raises(rg.errors.ShapeError, match="16 pixels a side at least"):
        images.UNet(width=4)(rg.zeros(1, 3, 15, 32))


def test_a_network_for_small_images_keeps_their_size_at_first():
    small = images.create("resnet18", num_classes=5, width=4, small=True)
    sizes = []
    small.layer1.register_forward_pre_hook(lambda module, args: sizes.append(args[0].shape))
    assert small(rg.zeros(2, 3, 32, 32)).shape == (2, 5)
    assert sizes == [(2, 4, 32, 32)]
    assert small.conv1.weight.shape == (4, 3, 3, 3)


@pytest.mark.parametrize(("make", "features"), [
    (lambda: images.create("resnet50", num_classes=0, width=2), 64),
    (lambda: images.MobileNetV2(0, width=0.25, stages=((1, 16, 1, 1),)), 1280),
    (lambda: images.VisionTransformer(**{**TINY, "num_classes": 0}), 12)])
def test_a_network_without_classes_gives_features(make, features):
    network = make().eval()
    assert network(rg.zeros(2, 3, 32, 32)).shape == (2, features)
    assert not [name for name in network.state_dict() if name.startswith(("fc", "head", "classifier"))]


def test_first_weights_are_spread_as_in_torchvision_and_timm():
    rg.manual_seed(0)
    residual, mobile = images.ResNet(images.BasicBlock, (1, 1), width=32), images.MobileNetV2(width=0.5, stages=((6, 24, 1, 1),))
    transformer = images.VisionTransformer(32, 8, embed_dim=96, depth=1, num_heads=3)
    for weights, spread in ((residual.layer2[0].conv1.weight, (2 / (64 * 9)) ** 0.5), (mobile.classifier[1].weight, 0.01),
                            (mobile.features[0][0].weight, (2 / (16 * 9)) ** 0.5), (transformer.blocks[0].attn.qkv.weight, 0.02),
                            (transformer.head.weight, 0.02), (transformer.pos_embed, 0.02)):
        assert weights.detach().numpy().std() == pytest.approx(spread, rel=0.1)
    for bias in (mobile.classifier[1].bias, transformer.head.bias, transformer.blocks[0].mlp.fc1.bias):
        assert not bias.detach().numpy().any()


def test_a_block_with_a_stride_brings_its_input_to_the_shape_of_its_output():
    assert images.BasicBlock(4, 4, 2)(rg.ones(2, 4, 8, 8)).shape == (2, 4, 4, 4)
    assert images.Bottleneck(8, 2, 2)(rg.ones(2, 8, 8, 8)).shape == (2, 8, 4, 4)


def test_dropout_is_for_training_alone():
    rg.manual_seed(0)
    network, x = images.VisionTransformer(**TINY, dropout=0.5), rg.randn(1, 3, 32, 32)
    assert float(abs(network(x) - network(x)).max()) > 0
    network.eval()
    assert float(abs(network(x) - network(x)).max()) == 0


def test_a_compiled_training_step_learns_images():
    rg.manual_seed(0)
    network = images.ResNet(images.BasicBlock, (1, 1), num_classes=4, width=8, small=True)
    x, labels = rg.randn(8, 3, 8, 8), rg.tensor(np.arange(8) % 4)
    optimizer = rg.optim.SGD(network.parameters(), 0.05, momentum=0.9)

    @rg.jit
    def step():
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 0.2 * losses[0]
    assert int(network.bn1.num_batches_tracked) == 20


@pytest.mark.parametrize(("name", "options", "message"), [
    ("resnet18", {"foo": 1}, "resnet18 has no option foo; it has num_classes, in_channels, width, small$"),
    ("resnet18", {"dropout": 0.1}, "no option dropout"), ("mobilenet_v2", {"small": True}, "it has num_classes, in_channels, width, dropout, stages"),
    ("vit_b_16", {"width": 8}, "it has image_size, .*dropout$"), ("unet", {"dropout": 0.1}, "it has num_classes, in_channels, width, bilinear"),
    ("resnet18", {"num_classes": -1}, "num_classes must be an integer of at least 0, got -1"), ("mobilenet_v2", {"num_classes": 2.5}, "got 2.5"),
    ("unet", {"num_classes": 0}, "at least 1, got 0"), ("vit_tiny_patch16_224", {"num_classes": True}, "got True")])
def test_options_that_make_no_network_are_refused(name, options, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        images.create(name, **options)
