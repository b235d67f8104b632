"""ResNet-50 and EfficientNet-b3 in plain PyTorch: the other side of the benchmark of training steps."""

import torch
from torch import nn
from torch.nn import functional as F


def conv_norm(channels_in, channels, size, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(channels_in, channels, size, stride, size // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(channels))


class Bottleneck(nn.Module):
    def __init__(self, channels_in, width, stride):
        super().__init__()
        self.reduce = conv_norm(channels_in, width, 1)
        self.middle = conv_norm(width, width, 3, stride)
        self.expand = conv_norm(width, 4 * width, 1)
        same = stride == 1 and channels_in == 4 * width
        self.shortcut = nn.Identity() if same else conv_norm(channels_in, 4 * width, 1, stride)

    def forward(self, x):
        y = F.relu(self.reduce(x), inplace=True)
        y = F.relu(self.middle(y), inplace=True)
        return F.relu(self.expand(y) + self.shortcut(x), inplace=True)


class ResNet50(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem, self.pool = conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)
        blocks, channels = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(channels, width, stride if i == 0 else 1))
                channels = 4 * width
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(self.pool(F.relu(self.stem(x), inplace=True))).mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)), inplace=True)))


class InvertedBlock(nn.Module):
    def __init__(self, channels_in, channels, size, stride, expansion, drop):
        super().__init__()
        hidden = expansion * channels_in
        self.expand = conv_norm(channels_in, hidden, 1) if expansion > 1 else None
        self.depthwise = conv_norm(hidden, hidden, size, stride, groups=hidden)
        self.excite = SqueezeExcite(hidden, channels_in // 4)
        self.project = conv_norm(hidden, channels, 1)
        self.residual, self.drop = stride == 1 and channels_in == channels, drop

    def forward(self, x):
        y = x if self.expand is None else F.silu(self.expand(x), inplace=True)
        y = self.project(self.excite(F.silu(self.depthwise(y), inplace=True)))
        if not self.residual:
            return y
        if self.training and self.drop > 0:
            kept = torch.empty(len(y), 1, 1, 1).bernoulli_(1 - self.drop)
            y = y * (kept / (1 - self.drop))
        return x + y


class EfficientNetB3(nn.Module):
    STAGES = ((2, 3, 1, 40, 24, 1), (3, 3, 2, 24, 32, 6), (3, 5, 2, 32, 48, 6), (5, 3, 2, 48, 96, 6),
              (5, 5, 1, 96, 136, 6), (6, 5, 2, 136, 232, 6), (2, 3, 1, 232, 384, 6))

    def __init__(self, classes):
        super().__init__()
        self.stem, blocks = conv_norm(3, 40, 3, 2), []
        for count, size, stride, channels_in, channels, expansion in self.STAGES:
            for i in range(count):
                blocks.append(InvertedBlock(channels_in if i == 0 else channels, channels, size,
                                            stride if i == 0 else 1, expansion, 0.2 * len(blocks) / 26))
        self.blocks, self.last = nn.Sequential(*blocks), conv_norm(384, 1536, 1)
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(1536, classes))

    def forward(self, x):
        x = self.blocks(F.silu(self.stem(x), inplace=True))
        return self.head(F.silu(self.last(x), inplace=True).mean((2, 3)))


NETWORKS = {"resnet50": ResNet50, "efficientnet-b3": EfficientNetB3}
