/* SPDX-License-Identifier: Apache-2.0 */
/* What the code that is put into a process (stub.S) knows of struct attach_page, and says to who stopped it. */
#ifndef ATTACH_STUB_H
#define ATTACH_STUB_H

#define STUB_STATE   0
#define STUB_CREATED 4
#define STUB_STATUS  8
#define STUB_CREATE  16
#define STUB_OPEN    24
#define STUB_SYMBOL  32
#define STUB_WHY     40
#define STUB_THREAD  48
#define STUB_STUB    56
#define STUB_BEGIN   64
#define STUB_KYMO    96
#define STUB_LIBRARY 352
#define STUB_ERROR   608
#define STUB_LAST    1111 /* of the error's text */
#define STUB_BACK    1112

#endif
