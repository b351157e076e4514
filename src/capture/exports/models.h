/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of plain exported functions: NCCL, cuBLAS, cuDNN, NVRTC and others. The parts of the backend:
 *
 *   libkymo-exports.so                the door: preloaded, exports the functions as thunks
 *   kymo/libkymo-exports-models.so    what the functions take, generated from api/; loaded with the
 *                                     first call, so that other processes need not relocate it
 *   libkymo.so.1                      the host: records, communicators, builds
 *
 * They are built together and check that by the number of functions when they meet.
 */
#ifndef CAPTURE_EXPORTS_MODELS_H
#define CAPTURE_EXPORTS_MODELS_H

#include "core/table/table.h"

extern struct table_model exports_model_nccl, exports_model_cublas, exports_model_cublaslt,
	exports_model_cufft, exports_model_cudnn, exports_model_nvrtc, exports_model_hiprtc,
	exports_model_numa, exports_model_ucx, exports_model_openshmem, exports_model_vaapi,
	exports_model_oneccl;
extern const struct table_piece exports_tables_nccl[], exports_tables_cublas[],
	exports_tables_cublaslt[], exports_tables_cufft[], exports_tables_cudnn[],
	exports_tables_nvrtc[], exports_tables_hiprtc[], exports_tables_numa[],
	exports_tables_ucx[], exports_tables_openshmem[], exports_tables_vaapi[],
	exports_tables_oneccl[];
extern const unsigned exports_table_count_nccl, exports_table_count_cublas,
	exports_table_count_cublaslt, exports_table_count_cufft, exports_table_count_cudnn,
	exports_table_count_nvrtc, exports_table_count_hiprtc, exports_table_count_numa,
	exports_table_count_ucx, exports_table_count_openshmem, exports_table_count_vaapi,
	exports_table_count_oneccl;

/* Of the library of models: the one of that name, or NULL. */
typedef struct table_model *(*exports_model_fn)(const char *domain);

/*
 * Of libkymo, for the door: has the functions of a library traced. `entries` are its functions in
 * the order of the model, null where it has them not; they are replaced. False: they stay.
 */
bool kymo_exports_open(const char *domain, void **entries, uint32_t count);

/* nccl.c: what happens after its calls. `entries` as above, before they are replaced. */
void exports_nccl_prepare(struct table_model *model, void *const *entries);
/* rtc.c: likewise of a compiler, which is `domain`. */
void exports_rtc_prepare(const char *domain, struct table_model *model, void *const *entries);
/* moves.c: likewise of a library that moves bytes: "ucx" or "openshmem". */
void exports_moves_prepare(const char *domain, struct table_model *model);

/* The function of that name, into `out` (a pointer to a function); left alone where there is none. */
void exports_function(const struct table_model *model, void *const *entries, const char *name,
		      void *out);
/* The argument of that name, as it was passed or became; 0: there is none. */
uint64_t exports_argument(const struct table_model *model, const struct table_call *call,
			  const char *name);

#endif
