# Tests of more than ten seconds in the dev build. They run with all others in `./x test` and in CI;
# `ctest -LE slow` leaves them out. Read by ctest, after the tests of the programs are known.
set_tests_properties(
  validation.Kernels.LeftOutErrorsDoNotWorsen
  property.BoundProperty.MoreBandwidthOrPeakIsNeverSlower
  PROPERTIES LABELS slow)
