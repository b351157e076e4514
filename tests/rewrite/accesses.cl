// Every way to access memory, once an item; test_rewrite.py knows what line has which.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef struct __attribute__((packed)) {
	uchar tag;
	float4 v[2];
} tight;
typedef struct {
	int pad;
	struct {
		int2 pair[2];
	} inner;
	__global float *far;
} state;
typedef union {
	float f;
	uchar b[4];
} bits;
__constant float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__constant int one = 1;

__kernel void accesses(__global float4 *a, __global float *b, __global int *c, __local float *l, __global tight *p,
		       __global state *s, __global double2 *d, __global half *h, volatile __global int *at, __global int3 *t)
{
	size_t i = get_global_id(0), k = get_local_id(0);
	__local int shared;
	__local float area[128];
	float own[4] = {0, 0, 0, 0}, whole;
	__global float *q = b;
	__global int *e = c, **ee = &e;
	float4 v = a[i];			// load global 16
	a[i].zw = v.xy;				// store global 8
	a[i].s1 *= 2.0f;			// rw global 4
	b[i] = a[i].hi.y;			// load global 4, store global 4
	(&a[i])->w = table[i & 3];		// load constant 4, store global 4
	v.x += one;				// load constant 4
	v.xyz = vload3(i, b);			// load global 12
	vstore2(v.xy, i, l);			// store local 8
	vstore4(v, i, area);			// store local 16
	vstore_half(v.x, i, h);			// store global 2
	b[i] = vload_half2(i, h).y;		// load global 4, store global 4
	l[k] = v.x;				// store local 4
	shared = 1;				// store local 4
	barrier(CLK_LOCAL_MEM_FENCE);
	v += l[k ^ 1] + shared;			// load local 4, load local 4
	d[i] = d[i] * 2.0;			// load global 16, store global 16
	atomic_add(at, shared);			// load local 4, atomic global 4
	atom_inc(&at[1]);			// atomic global 4
	p[i].v[1].y = p[0].tag;			// load global 1, store global 4
	s[i].inner.pair[1].x++;			// rw global 4
	b = s[0].far ? s[0].far : b;		// load global 8
	own[i & 3] = v.x;			// store private 4
	v.y += own[k & 3];			// load private 4
	((bits *)own)->b[1] = 2;		// store private 1
	b[i] += fract(v.x, &whole);		// rw global 4
	b[i] = fract(v.x, &b[i]);		// store global 4, store global 4
	t[i] = t[i].zyx;			// load global 12, store global 16
	*q++ = *(b + 1);			// load global 4, store global 4
	**ee = e[0] + (*ee)[1];			// load global 4, load global 4, store global 4
	c[sizeof(a[i])] = i;			// store global 4
	__global float *r = &b[i];
	c[i] = *(__global int *)(r + 1);	// load global 4, store global 4
	state copy = s[i];			// load global 32
	s[i] = copy;				// store global 32
	b[i] = copy.pad + v[1];			// store global 4
	a[i][2] = v[i & 1];			// store global 4
	b[i] = ((__global const float *)&c[1])[2];	// load global 4, store global 4
	b[i] = (*(__global float4 *)&a[i]).lo.y;	// load global 4, store global 4
	b[i] = as_float(c[i]) + convert_float(c[i]);	// load global 4, load global 4, store global 4
	event_t ev = async_work_group_copy(l, b, 8, 0);
	wait_group_events(1, &ev);
	prefetch(b, 4);
}

__kernel void images(__read_only image2d_t from, __write_only image2d_t to, sampler_t how)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));
	float4 v = read_imagef(from, how, at);	// load image 16
	write_imagef(to, at, v);		// store image 16
}
