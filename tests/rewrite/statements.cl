// Every kind of statement, each of which counts itself: HIT(n) adds one to own[n].
// HIT(n) in an expression is 0. Lines stay as they are, so that a site is known by its line.
#define HIT(n) (atomic_inc(&own[n]) & 0)
#define LIMIT 5
#define TWICE(x) x; x

typedef struct {
	int kept[4];
	int2 pair;
	struct {
		int deep;
	} inner;
} state;

int prototype(volatile __global int *own, int n);
void nothing(void);
int late(int n,
	 volatile __global int *own
);

__attribute__((const)) int pretends(volatile __global int *own, int n) { return n + HIT(0); }

int recursive_like(volatile __global int *own, int n)
{
	if (n > 3)
		return HIT(1) + 3;
	else if (n > 2)
		return HIT(2) + 2;
	HIT(3);
	for (;;) {
		n++;
		if (n > 7)
			break;
		if (n & 1)
			continue;
		HIT(4);
	}
	return n + HIT(5);
}

void nothing(void) {}

__kernel void inner_kernel(volatile __global int *own)
{
	HIT(6);
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1))) __attribute__((vec_type_hint(int4)))
void statements(volatile __global int *own, __global int *out, __global state *states)
{
	int i = get_global_id(0), n = 0, j = 0, k;
	__local int shared[8];

	for (k = 0; k < LIMIT; k++)
		n += HIT(7) + k;
	for (int a = 0, b = 3; a < b; a++, b--) if (a) HIT(8); else HIT(9);
	while (j < i)
		if (j++ & 1) { HIT(10); continue; }
		else HIT(11);
	do n += HIT(12) + 1; while (n < 20);
	do {
		if (n > 30)
			break;
		n += 3;
		HIT(13);
	} while (n + HIT(14) < 50);
	switch (i % 7) {
	case 0:
		HIT(15);
	case 1:
	case 2:
		HIT(16);
		break;
	case 3: {
		HIT(17);
		if (i > 8)
			break;
		HIT(18);
	}
	default:
		HIT(19);
		if (i & 1)
			goto out;
		HIT(20);
	case 5:;
		HIT(21);
	}
	HIT(22);
	switch (i & 3) case 2: HIT(23);
	switch (i & 3) {
		HIT(24);
	}
	switch (i & 3)
		for (k = 0; k < 3; k++) {
			HIT(25);
	case 1:
			HIT(26);
		}
	HIT(27);
out:
	HIT(28);
	k = i > 3 ? HIT(29) + 1 : i > 1 ? HIT(30) + 2 : HIT(31) + 3;
	n += i > 4 && HIT(32) == 0 && i > 6 && !HIT(33);
	n += i < 2 || HIT(34) || i == 5 || HIT(35);
	n += (HIT(36), k) + (i ? HIT(37) : 0);
	if (i == 3 && HIT(38) == 0) HIT(39);
	int4 v = (int4)(i, n, k, 1), u = v > 2 ? v + HIT(40) : v - HIT(41);
	v.xy += HIT(42) + 1;
	u = (v < 3) && (u + HIT(43) > 1);
	TWICE(HIT(44));
	{
		HIT(45);
	}
	j = 0;
again:
	HIT(46);
	if (++j < i % 4)
		goto again;
	HIT(47);
#pragma unroll 2
	for (k = 0; k < 4; k++)
		HIT(48);
	if (i & 1)
#pragma unroll
		for (k = 0; k < 2; k++)
			HIT(49);
	__attribute__((opencl_unroll_hint(2)))
	for (k = 0; k < 2; ++k) { HIT(50); }
	n += ({ int z = 2; HIT(51); z; });
	nothing();
	n += prototype(own, i) + pretends(own, 1) + recursive_like(own, i);
	n += late(i, own);
	inner_kernel(own);
	shared[i & 7] = n;
	barrier(CLK_LOCAL_MEM_FENCE);
	state s = states[i];
	__global state *p = &states[i], **pp = &p;
	(*pp)->kept[i & 3] = s.kept[1] + shared[7 - (i & 7)];
	p->pair.y = HIT(52) + p->pair.x++;
	(*p).inner.deep ^= (int)sizeof(p->kept[HIT(53)]);
	for (k = 0; k < 2; k++) ;
	;
	if (i > 5) { out[i] = n; HIT(54); return; }
	HIT(55);
	out[i] = n + v.x + v.s3 + u.y;
	if (i > 2)
		return;
	else
		HIT(56);
	HIT(57);
}

int prototype(volatile __global int *own, int n)
{
	return n ? n + HIT(58) : HIT(59);
}

int late(int n, volatile __global int *own) { while (n --> 0) { HIT(60); if (n == 2) return HIT(61); } return n; }
