! SPDX-License-Identifier: Apache-2.0
!
! Annotations for Fortran 2003 and later. Compile this file and kymo_fortran.c with the program; it
! links nothing of Kymo, and costs a call and a branch while no tool listens.
!
!   use kymo
!   call kymo_range_push('solve')
!   ...
!   call kymo_range_pop()
!
! Threads: every procedure, from any thread. Texts are copied; trailing blanks are left out.
! Errors: none is fatal. Functions return KYMO_MARKER_OFF (-1) when nobody listens, and
! KYMO_MARKER_UNBALANCED (-2) when there is nothing to pop or stop.
module kymo
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int), parameter, public :: KYMO_MARKER_OFF = -1, KYMO_MARKER_UNBALANCED = -2
  integer(c_int), parameter, public :: KYMO_OBJECT_PROCESS = 1, KYMO_OBJECT_THREAD = 2, &
       KYMO_OBJECT_DEVICE = 3, KYMO_OBJECT_CONTEXT = 4, KYMO_OBJECT_QUEUE = 5

  public :: kymo_mark, kymo_range_push, kymo_range_pop, kymo_range_start, kymo_range_stop
  public :: kymo_range_add, kymo_name, kymo_name_thread
  public :: kymo_pause, kymo_resume, kymo_pause_thread, kymo_resume_thread

  ! Adds a value with a name to the innermost range of the calling thread.
  interface kymo_range_add
    module procedure add_int32, add_int64, add_real32, add_real64, add_text
  end interface

  interface
    subroutine f_mark(name, n, domain, dn, category, cn, color) bind(c, name='kymo_fortran_mark')
      import :: c_char, c_size_t, c_int32_t
      character(kind=c_char), intent(in) :: name(*), domain(*), category(*)
      integer(c_size_t), value :: n, dn, cn
      integer(c_int32_t), value :: color
    end subroutine
    subroutine f_push(name, n, domain, dn, category, cn, color) bind(c, name='kymo_fortran_push')
      import :: c_char, c_size_t, c_int32_t
      character(kind=c_char), intent(in) :: name(*), domain(*), category(*)
      integer(c_size_t), value :: n, dn, cn
      integer(c_int32_t), value :: color
    end subroutine
    subroutine f_pop(domain, dn) bind(c, name='kymo_fortran_pop')
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: domain(*)
      integer(c_size_t), value :: dn
    end subroutine
    function f_start(name, n, domain, dn, category, cn, color) result(id) &
         bind(c, name='kymo_fortran_start')
      import :: c_char, c_size_t, c_int32_t, c_int64_t
      character(kind=c_char), intent(in) :: name(*), domain(*), category(*)
      integer(c_size_t), value :: n, dn, cn
      integer(c_int32_t), value :: color
      integer(c_int64_t) :: id
    end function
    subroutine f_stop(id) bind(c, name='kymo_fortran_stop')
      import :: c_int64_t
      integer(c_int64_t), value :: id
    end subroutine
    subroutine f_add_int(key, n, v) bind(c, name='kymo_fortran_add_int')
      import :: c_char, c_size_t, c_int64_t
      character(kind=c_char), intent(in) :: key(*)
      integer(c_size_t), value :: n
      integer(c_int64_t), value :: v
    end subroutine
    subroutine f_add_real(key, n, v) bind(c, name='kymo_fortran_add_real')
      import :: c_char, c_size_t, c_double
      character(kind=c_char), intent(in) :: key(*)
      integer(c_size_t), value :: n
      real(c_double), value :: v
    end subroutine
    subroutine f_add_text(key, n, v, vn) bind(c, name='kymo_fortran_add_text')
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: key(*), v(*)
      integer(c_size_t), value :: n, vn
    end subroutine
    subroutine f_name(what, runtime, rn, handle, text, n) bind(c, name='kymo_fortran_name')
      import :: c_char, c_size_t, c_int, c_int64_t
      integer(c_int), value :: what
      character(kind=c_char), intent(in) :: runtime(*), text(*)
      integer(c_size_t), value :: rn, n
      integer(c_int64_t), value :: handle
    end subroutine
    subroutine f_control(what) bind(c, name='kymo_fortran_control')
      import :: c_int
      integer(c_int), value :: what
    end subroutine
  end interface

contains

  ! Something happened at this moment.
  subroutine kymo_mark(name, domain, category, color)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: domain, category
    integer, intent(in), optional :: color ! int(z'AARRGGBB')
    call f_mark(name, size_of(name), text_of(domain), length_of(domain), text_of(category), &
                length_of(category), color_of(color))
  end subroutine

  ! Opens a range of the calling thread.
  subroutine kymo_range_push(name, domain, category, color)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: domain, category
    integer, intent(in), optional :: color
    call f_push(name, size_of(name), text_of(domain), length_of(domain), text_of(category), &
                length_of(category), color_of(color))
  end subroutine

  ! Closes the innermost range of the calling thread, of the default domain or of `domain`.
  subroutine kymo_range_pop(domain)
    character(len=*), intent(in), optional :: domain
    call f_pop(text_of(domain), length_of(domain))
  end subroutine

  ! A range that any thread may stop; 0 when nobody listens.
  function kymo_range_start(name, domain, category, color) result(id)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: domain, category
    integer, intent(in), optional :: color
    integer(c_int64_t) :: id
    id = f_start(name, size_of(name), text_of(domain), length_of(domain), text_of(category), &
                 length_of(category), color_of(color))
  end function

  subroutine kymo_range_stop(id)
    integer(c_int64_t), intent(in) :: id
    call f_stop(id)
  end subroutine

  subroutine add_int32(key, v)
    character(len=*), intent(in) :: key
    integer(c_int32_t), intent(in) :: v
    call f_add_int(key, size_of(key), int(v, c_int64_t))
  end subroutine

  subroutine add_int64(key, v)
    character(len=*), intent(in) :: key
    integer(c_int64_t), intent(in) :: v
    call f_add_int(key, size_of(key), v)
  end subroutine

  subroutine add_real32(key, v)
    character(len=*), intent(in) :: key
    real(c_float), intent(in) :: v
    call f_add_real(key, size_of(key), real(v, c_double))
  end subroutine

  subroutine add_real64(key, v)
    character(len=*), intent(in) :: key
    real(c_double), intent(in) :: v
    call f_add_real(key, size_of(key), v)
  end subroutine

  subroutine add_text(key, v)
    character(len=*), intent(in) :: key, v
    call f_add_text(key, size_of(key), v, size_of(v))
  end subroutine

  ! Gives an object of a runtime ("opencl") the name by which every output shows it.
  subroutine kymo_name(what, runtime, handle, text)
    integer(c_int), intent(in) :: what
    character(len=*), intent(in) :: runtime, text
    integer(c_int64_t), intent(in) :: handle
    call f_name(what, runtime, size_of(runtime), handle, text, size_of(text))
  end subroutine

  subroutine kymo_name_thread(text)
    character(len=*), intent(in) :: text
    call kymo_name(KYMO_OBJECT_THREAD, '', 0_c_int64_t, text)
  end subroutine

  ! Nothing is recorded in this process, until it is resumed.
  subroutine kymo_pause()
    call f_control(3_c_int)
  end subroutine

  subroutine kymo_resume()
    call f_control(4_c_int)
  end subroutine

  subroutine kymo_pause_thread()
    call f_control(1_c_int)
  end subroutine

  subroutine kymo_resume_thread()
    call f_control(2_c_int)
  end subroutine

  pure function size_of(s) result(n)
    character(len=*), intent(in) :: s
    integer(c_size_t) :: n
    n = len_trim(s, c_size_t)
  end function

  pure function length_of(s) result(n)
    character(len=*), intent(in), optional :: s
    integer(c_size_t) :: n
    n = 0
    if (present(s)) n = len_trim(s, c_size_t)
  end function

  ! An absent text is an empty one.
  pure function text_of(s) result(t)
    character(len=*), intent(in), optional :: s
    character(len=64) :: t
    t = ''
    if (present(s)) t = s
  end function

  pure function color_of(c) result(v)
    integer, intent(in), optional :: c
    integer(c_int32_t) :: v
    v = 0
    if (present(c)) v = int(c, c_int32_t)
  end function

end module kymo
