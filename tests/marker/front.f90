! SPDX-License-Identifier: Apache-2.0
! The Fortran front end: ranges, values, domains, names.
program front
  use kymo
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t) :: id

  call kymo_name_thread('fortran main')
  call kymo_range_push('whole')
  call kymo_range_push('step   ', domain='library', category='io', color=1122867)
  call kymo_range_add('n', -3)
  call kymo_range_add('x', 0.5d0)
  call kymo_range_add('t', 'text')
  call kymo_mark('inside')
  call kymo_range_pop(domain='library')
  id = kymo_range_start('across')
  call kymo_range_stop(id)
  call kymo_pause()
  call kymo_mark('not seen')
  call kymo_resume()
  call kymo_range_pop()
end program front
