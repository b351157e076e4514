/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libraries; see libraries.h. */
#include "analysis/libraries.h"

#include <string.h>

/* Numbers of `libraries`. */
enum id {
	NVIDIA_DRIVER = 1,
	CUDA_RUNTIME,
	CUBLAS,
	CUDNN,
	CUFFT,
	CUSPARSE,
	CUSOLVER,
	CURAND,
	NVRTC,
	NCCL,
	HIP_RUNTIME,
	HSA_RUNTIME,
	ROCBLAS,
	HIPBLAS,
	MIOPEN,
	ROCFFT,
	ROCSPARSE,
	ROCSOLVER,
	ROCRAND,
	RCCL,
	OPENCL_LOADER,
	POCL,
	LEVEL_ZERO,
	INTEL_RUNTIME,
	SYCL,
	ONEDNN,
	ONEMKL,
	OPENMP,
	MPI,
	UCX,
	PYTORCH,
	XLA,
	TENSORFLOW,
	ONNXRUNTIME,
	TRITON,
	KOKKOS,
	LAMMPS,
	OCCA,
	PYTHON,
	SYSTEM,
	KYMO
};

static const struct library libraries[] = {
	[NVIDIA_DRIVER] = {"NVIDIA driver", true},
	[CUDA_RUNTIME] = {"CUDA runtime", true},
	[CUBLAS] = {"cuBLAS", false},
	[CUDNN] = {"cuDNN", false},
	[CUFFT] = {"cuFFT", false},
	[CUSPARSE] = {"cuSPARSE", false},
	[CUSOLVER] = {"cuSOLVER", false},
	[CURAND] = {"cuRAND", false},
	[NVRTC] = {"NVRTC", false},
	[NCCL] = {"NCCL", false},
	[HIP_RUNTIME] = {"HIP runtime", true},
	[HSA_RUNTIME] = {"HSA runtime", true},
	[ROCBLAS] = {"rocBLAS", false},
	[HIPBLAS] = {"hipBLAS", true},
	[MIOPEN] = {"MIOpen", false},
	[ROCFFT] = {"rocFFT", false},
	[ROCSPARSE] = {"rocSPARSE", false},
	[ROCSOLVER] = {"rocSOLVER", false},
	[ROCRAND] = {"rocRAND", false},
	[RCCL] = {"RCCL", false},
	[OPENCL_LOADER] = {"OpenCL loader", true},
	[POCL] = {"PoCL", true},
	[LEVEL_ZERO] = {"Level Zero loader", true},
	[INTEL_RUNTIME] = {"Intel runtime", true},
	[SYCL] = {"SYCL runtime", true},
	[ONEDNN] = {"oneDNN", false},
	[ONEMKL] = {"oneMKL", false},
	[OPENMP] = {"OpenMP runtime", true},
	[MPI] = {"MPI library", true},
	[UCX] = {"UCX", false},
	[PYTORCH] = {"PyTorch", false},
	[XLA] = {"XLA", false},
	[TENSORFLOW] = {"TensorFlow", false},
	[ONNXRUNTIME] = {"ONNX Runtime", false},
	[TRITON] = {"Triton", false},
	[KOKKOS] = {"Kokkos", true},
	[LAMMPS] = {"LAMMPS", false},
	[OCCA] = {"OCCA", true},
	[PYTHON] = {"Python", true},
	[SYSTEM] = {"system library", true},
	[KYMO] = {"Kymo", true},
};

struct pattern {
	const char *text;
	enum id id;
};

/*
 * What file names begin with, the longer of two that fit first. They are the names that these libraries
 * are installed under by their makers' packages (SONAME), and of Python's modules the file in its wheel.
 */
static const struct pattern modules[] = {
	{"libcuda.so", NVIDIA_DRIVER},
	{"libnvidia-", NVIDIA_DRIVER},
	{"libcudart", CUDA_RUNTIME},
	{"libcublas", CUBLAS},
	{"libcudnn", CUDNN},
	{"libcufft", CUFFT},
	{"libcusparse", CUSPARSE},
	{"libcusolver", CUSOLVER},
	{"libcurand", CURAND},
	{"libnvrtc", NVRTC},
	{"libnvJitLink", NVRTC},
	{"libnccl", NCCL},
	{"libamdhip64", HIP_RUNTIME},
	{"libhsa-runtime64", HSA_RUNTIME},
	{"libhipblas", HIPBLAS},
	{"librocblas", ROCBLAS},
	{"libTensile", ROCBLAS},
	{"libMIOpen", MIOPEN},
	{"libhipfft", ROCFFT},
	{"librocfft", ROCFFT},
	{"librocsparse", ROCSPARSE},
	{"librocsolver", ROCSOLVER},
	{"librocrand", ROCRAND},
	{"librccl", RCCL},
	{"libOpenCL.so", OPENCL_LOADER},
	{"libpocl", POCL},
	{"libze_loader", LEVEL_ZERO},
	{"libze_intel", INTEL_RUNTIME},
	{"libigdrcl", INTEL_RUNTIME},
	{"libintelocl", INTEL_RUNTIME},
	{"libsycl", SYCL},
	{"libur_", SYCL},
	{"libpi_", SYCL},
	{"libdnnl", ONEDNN},
	{"libmkl_", ONEMKL},
	{"libonemkl", ONEMKL},
	{"libocca", OCCA},
	{"libgomp", OPENMP},
	{"libomp", OPENMP},
	{"libiomp5", OPENMP},
	{"libmpi", MPI},
	{"libopen-rte", MPI},
	{"libopen-pal", MPI},
	{"libucp", UCX},
	{"libuct", UCX},
	{"libtorch", PYTORCH},
	{"libc10", PYTORCH},
	{"libaten", PYTORCH},
	{"xla_extension", XLA},
	{"xla_cuda_plugin", XLA},
	{"libjax_", XLA},
	{"_jax.", XLA},
	{"libtensorflow", TENSORFLOW},
	{"_pywrap_tensorflow", TENSORFLOW},
	{"libonnxruntime", ONNXRUNTIME},
	{"libtriton", TRITON},
	{"libkokkoscore", KOKKOS},
	{"liblammps", LAMMPS},
	{"libpython", PYTHON},
	{"python", PYTHON},
	{"libc.so", SYSTEM},
	{"libpthread", SYSTEM},
	{"libstdc++", SYSTEM},
	{"libgcc_s", SYSTEM},
	{"ld-linux", SYSTEM},
	{"libkymo", KYMO},
};

/* Domains whose calls are a library's. */
static const struct pattern domains[] = {
	{"cublas", CUBLAS}, {"cublaslt", CUBLAS}, {"cudnn", CUDNN},
	{"cufft", CUFFT},   {"nccl", NCCL},       {"rccl", RCCL},
};

/*
 * What kernels' names begin with, after "void " and the like. NCCL: src/device/generate.py (ncclDevKernel_,
 * ncclKernel_ before 2.19). HIP: rocclr/device/blitcl.cpp (__amd_rocclr_). rocBLAS: Tensile names what it
 * generates for a contraction Cijk_. MIOpen: src/kernels. PyTorch: aten/src/ATen/native/cuda. cuBLAS, cuDNN,
 * cuFFT, cuSPARSE: names that their documentation's examples and their users' profiles show.
 */
static const struct pattern kernels[] = {
	{"ncclDevKernel", NCCL},
	{"ncclKernel", NCCL},
	{"cudnn::", CUDNN},
	{"cudnn_", CUDNN},
	{"cublas", CUBLAS},
	{"gemmSN", CUBLAS},
	{"gemv2", CUBLAS},
	{"gemvNSP", CUBLAS},
	{"splitKreduce_kernel", CUBLAS},
	{"cusparse::", CUSPARSE},
	{"regular_fft", CUFFT},
	{"vector_fft", CUFFT},
	{"__amd_rocclr_", HIP_RUNTIME},
	{"Cijk_", ROCBLAS},
	{"rocblas_", ROCBLAS},
	{"rocsparse", ROCSPARSE},
	{"rocsolver", ROCSOLVER},
	{"fft_rtc_", ROCFFT},
	{"miopen", MIOPEN},
	{"MIOpen", MIOPEN},
	{"naive_conv_", MIOPEN},
	{"at::native::", PYTORCH},
	{"at_cuda_detail::", PYTORCH},
};

/* Generations that names of cuBLAS's and cuDNN's oldest kernels begin with: "ampere_sgemm_128x64_tn". */
static const char *const generations[] = {"maxwell_", "pascal_", "volta_",
					  "turing_",  "ampere_", "hopper_"};

static const struct library *find(const struct pattern *list, unsigned count, const char *text)
{
	for (unsigned i = 0; i < count; i++)
		if (strncmp(text, list[i].text, strlen(list[i].text)) == 0)
			return &libraries[list[i].id];
	return NULL;
}

#define FIND(list, text) find(list, sizeof(list) / sizeof(*(list)), text)

const struct library *library_of_module(const char *file)
{
	return FIND(modules, file);
}

const struct library *library_of_domain(const char *domain)
{
	for (unsigned i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		if (strcmp(domain, domains[i].text) == 0)
			return &libraries[domains[i].id];
	return NULL;
}

/* "sm80_xmma_gemm_f16f16_...", "ampere_scudnn_...", "volta_sgemm_...". */
static const struct library *by_generation(const char *kernel)
{
	const char *rest = NULL;

	for (unsigned i = 0; i < sizeof(generations) / sizeof(*generations) && !rest; i++)
		if (strncmp(kernel, generations[i], strlen(generations[i])) == 0)
			rest = kernel + strlen(generations[i]);
	if (rest && strstr(rest, "cudnn"))
		return &libraries[CUDNN];
	if (rest && strstr(rest, "gemm"))
		return &libraries[CUBLAS];
	rest = strncmp(kernel, "sm", 2) == 0 ? strstr(kernel, "_xmma_") : NULL;
	if (!rest || rest > kernel + 5)
		return NULL;
	return strncmp(rest, "_xmma_gemm", 10) == 0 ? &libraries[CUBLAS] : &libraries[CUDNN];
}

const struct library *library_of_kernel(const char *domain, const char *kernel)
{
	const struct library *l;

	if (strncmp(kernel, "void ", 5) == 0)
		kernel += 5;
	l = FIND(kernels, kernel);
	if (l == &libraries[NCCL] && (strcmp(domain, "hip") == 0 || strcmp(domain, "hsa") == 0))
		return &libraries[RCCL];
	return l ? l : by_generation(kernel);
}

bool library_communicates(const struct library *l)
{
	return l && (l == &libraries[NCCL] || l == &libraries[RCCL]);
}

bool library_is_shared(const char *file)
{
	const char *so = strstr(file, ".so");

	return so && (so[3] == '\0' || so[3] == '.');
}
