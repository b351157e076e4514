# SPDX-License-Identifier: Apache-2.0
# CUDA without a GPU: a fake for CUPTI tells what a program does; see tests/cuda.
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what basic modes modules driver driver_work devices reused objects odd shared wraps nested graphs many drop ends quick_ends hang hang_modes hang_many meet origins
          origins_shared ctl ctl_recorder ctl_silent alone doctor without aside static layout replay)
    add_test(NAME cli.cuda.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/cuda/test_cuda.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.cuda.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what source pauses beside repeats across profiler dropped)
    add_test(NAME cli.cuda_source.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/cuda/test_source.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.cuda_source.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what pc reports instructions soon many full serialized refused ends service
          count metrics passes chosen replay replay_application count_threads count_refused count_fork count_end)
    add_test(NAME cli.cuda_profile.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/cuda/test_profile.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.cuda_profile.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
if(TARGET kymo AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  foreach(what once processes many graph threads refused old findings instructions)
    add_test(NAME cli.cuda_sass.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/cuda/test_sass.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.cuda_sass.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
  foreach(what counts chosen libraries accesses blocks groups untouched prints triton)
    add_test(NAME cli.cuda_twins.${what} COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/cuda/test_twins.py $<TARGET_FILE:kymo> ${what})
    set_tests_properties(cli.cuda_twins.${what} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
