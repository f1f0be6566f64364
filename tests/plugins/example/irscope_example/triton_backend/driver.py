"""The driver of a device that no machine has."""

from triton.backends.driver import DriverBase


class ExampleDriver(DriverBase):
    """Never active."""

    @classmethod
    def is_active(cls):
        return False

    def map_python_to_cpp_type(self, type_):
        return type_

    def get_current_target(self):
        raise NotImplementedError

    def get_active_torch_device(self):
        raise NotImplementedError

    def get_benchmarker(self):
        raise NotImplementedError
