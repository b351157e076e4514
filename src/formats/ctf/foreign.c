#include "formats/ctf/reader.h"
kymo_status_t ctf_read_foreign(struct ctf_reader *r)
{
	(void)r;
	return KYMO_ERROR_NOT_FOUND;
}
