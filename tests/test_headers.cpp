// Empty: its target compiles <gmock/gmock.h> once for all tests.
