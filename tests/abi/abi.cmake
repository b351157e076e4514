# What is loaded into programs must stay small and harmless; headers must stand alone.
add_test(NAME abi.layers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/layers.py
         ${PROJECT_SOURCE_DIR})
if(NOT KYMO_SANITIZE)
  add_test(NAME abi.needed COMMAND Python3::Interpreter
           ${PROJECT_SOURCE_DIR}/tools/check/needed.py $<TARGET_FILE:libkymo>
           $<TARGET_FILE:kymo-inject> $<TARGET_FILE:kymo-register>
           $<TARGET_FILE:kymo-rocprofiler>)
  foreach(module ${KYMO_MPI_MODULES})
    add_test(NAME abi.needed.mpi-${module} COMMAND Python3::Interpreter
             ${PROJECT_SOURCE_DIR}/tools/check/needed.py $<TARGET_FILE:kymo-mpi>
             $<TARGET_FILE:kymo-mpi-${module}>)
  endforeach()
endif()
add_test(NAME abi.headers COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/headers.sh
         ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(abi.layers abi.headers PROPERTIES LABELS abi)
