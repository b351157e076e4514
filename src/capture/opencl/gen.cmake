# SPDX-License-Identifier: Apache-2.0
# Generates the backend's tables and wrappers. Sets OCL_GEN_DIR (to be put on the include path) and
# OCL_GEN_SOURCES; table.c goes with them.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

set(OCL_GEN_DIR ${CMAKE_CURRENT_BINARY_DIR}/gen)
set(OCL_GEN_SOURCES
  ${OCL_GEN_DIR}/opencl_desc.c
  ${OCL_GEN_DIR}/opencl_table.c
  ${OCL_GEN_DIR}/opencl_wrap.c)
set(OCL_PRELOAD_SOURCES ${OCL_GEN_DIR}/opencl_preload.c)
set(OCL_GEN_HEADERS
  ${OCL_GEN_DIR}/opencl_args.h
  ${OCL_GEN_DIR}/opencl_hooks.h
  ${OCL_GEN_DIR}/opencl_ops.h)
set(ocl_gen_tools ${PROJECT_SOURCE_DIR}/tools/gen)
set(ocl_gen_api ${PROJECT_SOURCE_DIR}/api/opencl)

# Files are rewritten only when they change, so a stamp tells that the generator has run.
add_custom_command(
  OUTPUT ${OCL_GEN_DIR}/stamp
  BYPRODUCTS ${OCL_GEN_SOURCES} ${OCL_PRELOAD_SOURCES} ${OCL_GEN_HEADERS}
  COMMAND Python3::Interpreter -B ${ocl_gen_tools}/gen_opencl.py
          --api ${ocl_gen_api} --out ${OCL_GEN_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${OCL_GEN_DIR}/stamp
  DEPENDS ${ocl_gen_tools}/gen_opencl.py ${ocl_gen_tools}/model.py ${ocl_gen_tools}/packed.py ${ocl_gen_tools}/emit.py
          ${ocl_gen_tools}/emit_desc.py ${ocl_gen_tools}/emit_preload.py
          ${ocl_gen_tools}/emit_wrap.py
          ${ocl_gen_api}/functions.json ${ocl_gen_api}/enums.json ${ocl_gen_api}/facts.json
  COMMENT "Generating the OpenCL wrappers"
  VERBATIM)
add_custom_target(opencl_gen DEPENDS ${OCL_GEN_DIR}/stamp)
