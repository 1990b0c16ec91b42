"""A step of training, as users write it, for tests of what becomes of one."""


def training_step(optimizer, loss_of):
    """A function that has an optimizer take a step down the loss that `loss_of` gives of its arguments, and returns that loss."""
    def step(*args):
        optimizer.zero_grad()
        loss = loss_of(*args)
        loss.backward()
        optimizer.step()
        return loss

    return step
