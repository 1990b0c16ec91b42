"""Programs on images, with the constructions of PyTorch's examples: each is a function of the module `torch` (see `programs`)."""

import itertools
import math

import numpy as np

DRAW = np.random.default_rng


def images(torch, seed, *shape):
    """Images of numbers from 0 to 1."""
    return torch.from_numpy(DRAW(seed).uniform(size=shape).astype(np.float32))


def labels(torch, seed, count, *shape):
    """Classes below `count`."""
    return torch.from_numpy(DRAW(seed).integers(0, count, shape))


def mnist(torch):
    """Two convolutions and two linear layers, by Adadelta with a schedule of steps."""
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 6, 3, 1)
            self.dropout1, self.dropout2 = nn.Dropout(0.0), nn.Dropout(0.0)
            self.fc1, self.fc2 = nn.Linear(6 * 4 * 4, 16), nn.Linear(16, 10)

        def forward(self, x):
            x = F.relu(self.conv1(x))
            x = F.relu(self.conv2(x))
            x = self.dropout1(F.max_pool2d(x, 2))
            x = F.relu(self.fc1(torch.flatten(x, 1)))
            return F.log_softmax(self.fc2(self.dropout2(x)), dim=1)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    model.train()

    def step(data, target):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        pred = output.argmax(dim=1, keepdim=True)
        return loss, pred.eq(target.view_as(pred)).sum(), F.nll_loss(output, target, reduction="sum")

    step.after = scheduler.step
    return model, step, [(images(torch, i, 8, 1, 12, 12), labels(torch, i, 10, 8)) for i in range(8)]


def mnist_rnn(torch):
    """An LSTM over the rows of images, normalised, by Adadelta."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(input_size=12, hidden_size=10, batch_first=True)
            self.batchnorm = nn.BatchNorm1d(10)
            self.dropout1, self.dropout2 = nn.Dropout2d(0.0), nn.Dropout2d(0.0)
            self.fc1, self.fc2 = nn.Linear(10, 8), nn.Linear(8, 10)

        def forward(self, input):
            input = input.reshape(-1, 12, 12)
            output, _ = self.rnn(input)
            output = output[:, -1, :]
            output = self.batchnorm(output)
            output = self.dropout1(output.unsqueeze(2).unsqueeze(3)).flatten(1)
            output = F.relu(self.fc1(output))
            return F.log_softmax(self.fc2(output), dim=1)

    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1)

    def step(data, target):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        return loss, output.max(1)[1].eq(target).sum()

    return model, step, [(images(torch, i, 6, 1, 12, 12), labels(torch, i, 10, 6)) for i in range(8)]


def forward_forward(torch):
    """Layers that are trained one by one, each by an optimizer of its own, to tell right labels from wrong ones."""
    nn = torch.nn

    class Layer(nn.Linear):
        def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
            super().__init__(in_features, out_features, bias, device, dtype)
            self.relu = nn.ReLU()
            self.opt = torch.optim.Adam(self.parameters(), lr=0.03)
            self.threshold = 2.0

        def forward(self, x):
            x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
            return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

        def learn(self, x_pos, x_neg):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            loss = torch.log1p(torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            return self.forward(x_pos).detach(), self.forward(x_neg).detach(), loss

    class Net(nn.Module):
        def __init__(self, dims):
            super().__init__()
            self.layers = nn.ModuleList([Layer(a, b).to("cpu") for a, b in itertools.pairwise(dims)])

    def overlay(x, y):
        x_ = x.clone()
        x_[:, :10] *= 0.0
        x_[range(x.shape[0]), y] = x.max()
        return x_

    model = Net([30, 20, 10])

    def step(x_pos, x_neg):
        losses = []
        for layer in model.layers:
            x_pos, x_neg, loss = layer.learn(x_pos, x_neg)
            losses += [loss]
        return *losses, sum(losses).unsqueeze(0).mean()

    pairs = [(images(torch, i, 12, 30), labels(torch, i, 10, 12)) for i in range(8)]
    return model, step, [(overlay(x, y), overlay(x, (y + 3) % 10)) for x, y in pairs]


def dcgan(torch):
    """A generator and a discriminator of convolutions with batch norm, each by an Adam of its own."""
    nn = torch.nn

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight, 0.0, 0.02)
        elif classname.find("BatchNorm") != -1:
            nn.init.normal_(m.weight, 1.0, 0.02)
            nn.init.zeros_(m.bias)

    class Generator(nn.Module):
        def __init__(self, nz=6, ngf=4, nc=3):
            super().__init__()
            self.main = nn.Sequential(
                nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
                nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
                nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh())

        def forward(self, input):
            return self.main(input)

    class Discriminator(nn.Module):
        def __init__(self, ndf=4, nc=3):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
                nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
                nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False), nn.Sigmoid())

        def forward(self, input):
            return self.main(input).view(-1, 1).squeeze(1)

    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))

    def step(real, noise):
        netD.zero_grad()
        label = torch.full((real.size(0),), 1, dtype=real.dtype, device=real.device)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()
        fake = netG(noise)
        label.fill_(0)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        return errD_real + errD_fake, errG, output.mean()

    noise = [torch.from_numpy(DRAW(i).normal(size=(4, 6, 1, 1)).astype(np.float32)) for i in range(8)]
    return nn.ModuleList([netG, netD]), step, [(images(torch, i, 4, 3, 16, 16) * 2 - 1, z) for i, z in enumerate(noise)]


def super_resolution(torch):
    """Convolutions and a pixel shuffle, orthogonal weights at first, by Adam on the mean squared error."""
    nn, init = torch.nn, torch.nn.init

    class Net(nn.Module):
        def __init__(self, upscale_factor):
            super().__init__()
            self.relu = nn.ReLU()
            self.conv1 = nn.Conv2d(1, 6, (5, 5), (1, 1), (2, 2))
            self.conv2 = nn.Conv2d(6, 6, (3, 3), (1, 1), (1, 1))
            self.conv3 = nn.Conv2d(6, upscale_factor**2, (3, 3), (1, 1), (1, 1))
            self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
            init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
            init.orthogonal_(self.conv3.weight)

        def forward(self, x):
            x = self.relu(self.conv1(x))
            x = self.relu(self.conv2(x))
            return self.pixel_shuffle(self.conv3(x))

    model, criterion = Net(2), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(small, large):
        optimizer.zero_grad()
        loss = criterion(model(small), large)
        loss.backward()
        optimizer.step()
        return loss, -10 * torch.log10(loss.detach())

    return model, step, [(images(torch, i, 2, 1, 8, 8), images(torch, 99 - i, 2, 1, 16, 16)) for i in range(8)]


def fast_neural_style(torch):
    """A net of reflected borders, instance norms, residues and upsampling, by losses of features and of Gram matrices."""
    nn = torch.nn

    class ConvLayer(nn.Module):
        def __init__(self, in_channels, out_channels, kernel_size, stride, upsample=None):
            super().__init__()
            self.upsample = upsample
            self.reflection_pad = nn.ReflectionPad2d(kernel_size // 2)
            self.conv2d = nn.Conv2d(in_channels, out_channels, kernel_size, stride)

        def forward(self, x):
            if self.upsample:
                x = nn.functional.interpolate(x, mode="nearest", scale_factor=self.upsample)
            return self.conv2d(self.reflection_pad(x))

    class ResidualBlock(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1, self.in1 = ConvLayer(channels, channels, 3, 1), nn.InstanceNorm2d(channels, affine=True)
            self.conv2, self.in2 = ConvLayer(channels, channels, 3, 1), nn.InstanceNorm2d(channels, affine=True)
            self.relu = nn.ReLU()

        def forward(self, x):
            residual = x
            out = self.relu(self.in1(self.conv1(x)))
            return self.in2(self.conv2(out)) + residual

    class TransformerNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.in1 = ConvLayer(3, 4, 5, 1), nn.InstanceNorm2d(4, affine=True)
            self.conv2, self.in2 = ConvLayer(4, 6, 3, 2), nn.InstanceNorm2d(6, affine=True)
            self.res1 = ResidualBlock(6)
            self.deconv1, self.in3 = ConvLayer(6, 4, 3, 1, upsample=2), nn.InstanceNorm2d(4, affine=True)
            self.deconv2 = ConvLayer(4, 3, 5, 1)
            self.relu = nn.ReLU()

        def forward(self, X):
            y = self.relu(self.in1(self.conv1(X)))
            y = self.res1(self.relu(self.in2(self.conv2(y))))
            return self.deconv2(self.relu(self.in3(self.deconv1(y))))

    def gram_matrix(y):
        (b, ch, h, w) = y.size()
        features = y.view(b, ch, w * h)
        return features.bmm(features.transpose(1, 2)) / (ch * h * w)

    def normalize_batch(batch):
        mean = batch.new_tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
        std = batch.new_tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)
        return (batch.div(1.0) - mean) / std

    model, features = TransformerNet(), nn.Conv2d(3, 5, 3)
    for param in features.parameters():
        param.requires_grad = False
    mse = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def step(x, style):
        optimizer.zero_grad()
        y = normalize_batch(model(x))
        features_y, features_x = features(y), features(normalize_batch(x))
        content = 10.0 * mse(features_y, features_x)
        gm_s = gram_matrix(features(style))
        total = content + 100.0 * mse(gram_matrix(features_y), gm_s[: len(x), :, :])
        total.backward()
        optimizer.step()
        return total, content

    return nn.ModuleList([model, features]), step, [(images(torch, i, 2, 3, 12, 12), images(torch, 50, 2, 3, 12, 12)) for i in range(8)]


def siamese(torch):
    """Two images through one residual net, compared by a perceptron, on a binary cross entropy."""
    nn, F = torch.nn, torch.nn.functional

    class BasicBlock(nn.Module):
        expansion = 1

        def __init__(self, inplanes, planes, stride=1):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
            self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)
            self.downsample = None
            if stride != 1 or inplanes != planes:
                self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = F.relu(self.bn1(self.conv1(x)), inplace=True)
            out = self.bn2(self.conv2(out))
            out += identity
            return F.relu(out, inplace=True)

    class Siamese(nn.Module):
        def __init__(self):
            super().__init__()
            net = nn.Sequential(nn.Conv2d(1, 4, 3, 1, 1, bias=False), nn.MaxPool2d(2), BasicBlock(4, 4), BasicBlock(4, 8, 2),
                                nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten())
            self.resnet = nn.Sequential(*(list(net.children())[:-1]))
            self.fc = nn.Sequential(nn.Linear(16, 12), nn.ReLU(inplace=True), nn.Linear(12, 1))
            self.sigmoid = nn.Sigmoid()
            self.fc.apply(self.init_weights)

        def init_weights(self, m):
            if isinstance(m, nn.Linear):
                torch.nn.init.xavier_uniform_(m.weight)
                m.bias.data.fill_(0.01)

        def forward_once(self, x):
            output = self.resnet(x)
            return output.view(output.size()[0], -1)

        def forward(self, input1, input2):
            output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
            return self.sigmoid(self.fc(output))

    model, criterion = Siamese(), nn.BCELoss()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)

    def step(one, other, targets):
        optimizer.zero_grad()
        outputs = model(one, other).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        pred = torch.where(outputs > 0.5, 1, 0)
        return loss, pred.eq(targets.view_as(pred)).sum()

    return model, step, [(images(torch, i, 4, 1, 12, 12), images(torch, i + 20, 4, 1, 12, 12), labels(torch, i, 2, 4).float()) for i in range(8)]


def vision_transformer(torch):
    """Patches with places and a token for the class, through encoder layers, by AdamW with a cosine schedule."""
    nn, F = torch.nn, torch.nn.functional

    class ViT(nn.Module):
        def __init__(self, image=12, patch=4, dim=16, depth=2, heads=4, classes=5):
            super().__init__()
            count = (image // patch) ** 2
            self.patch = patch
            self.to_patch = nn.Sequential(nn.LayerNorm(patch * patch * 3), nn.Linear(patch * patch * 3, dim), nn.LayerNorm(dim))
            self.pos_embedding = nn.Parameter(torch.randn(1, count + 1, dim) * 0.02)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            layer = nn.TransformerEncoderLayer(dim, heads, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.head = nn.Linear(dim, classes)

        def forward(self, img):
            b, c, h, w = img.shape
            p = self.patch
            x = img.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)
            x = torch.cat((self.cls_token.expand(b, -1, -1), self.to_patch(x)), dim=1)
            x = x + self.pos_embedding[:, : x.size(1)]
            return self.head(self.transformer(x)[:, 0])

    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)

    def step(x, y):
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        return loss, loss.detach() / math.log(5)

    step.after = schedule.step
    return model, step, [(images(torch, i, 3, 3, 12, 12), labels(torch, i, 5, 3)) for i in range(8)]


PROGRAMS = [mnist, mnist_rnn, forward_forward, dcgan, super_resolution, fast_neural_style, siamese, vision_transformer]
