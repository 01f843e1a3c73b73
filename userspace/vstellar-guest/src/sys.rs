// SPDX-License-Identifier: GPL-2.0
//! The few system calls that no library has: all `unsafe` of this program.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::FromRawFd;
use std::os::fd::RawFd;

use vmm_sys_util::ioctl::ioctl;
use vmm_sys_util::ioctl_io_nr;

ioctl_io_nr!(VHOST_VDPA_RESUME, 0xaf, 0x7e);

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// `VHOST_VDPA_RESUME`.
pub(crate) fn resume(device: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: The request has no argument, and whatever the descriptor is, it is open.
    check(unsafe { ioctl(device, VHOST_VDPA_RESUME()) }).map(drop)
}

/// A file in memory that can be sealed.
pub(crate) fn memfd(name: &CStr) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: The name is a string with a zero at its end.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: It was opened just now and belongs to nobody else.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Seals a file in memory against something (`F_SEAL_*`).
pub(crate) fn seal(file: &File, seals: libc::c_int) -> io::Result<()> {
    // SAFETY: The request takes a number.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }).map(drop)
}

/// Makes a file in memory that long, and reserves all of the memory for it.
pub(crate) fn reserve(file: &File, len: u64) -> io::Result<()> {
    let len = libc::off_t::try_from(len).map_err(io::Error::other)?;
    // SAFETY: The request takes numbers.
    check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, len) }).map(drop)
}

/// A mapping of this process's, which ends with it.
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapping {
    /// Maps a file read-only and shared, or, without one, private memory.
    pub(crate) fn new(file: Option<&File>, len: usize) -> io::Result<Mapping> {
        let (protection, flags, fd) = match file {
            Some(file) => (libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd()),
            None => (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
            ),
        };
        // SAFETY: The kernel chooses the place, so that nothing else is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { start, len })
    }

    /// What is there now, of a file that nobody in this process writes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: The mapping has as many bytes and can be read. That it is copied and not referred to
        // is because the device might write there, which is what whoever asks wants to know.
        unsafe { std::ptr::copy_nonoverlapping(self.start(), bytes.as_mut_ptr(), self.len) };
        bytes
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> *const u8 {
        self.start.cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: It was mapped by `new`, and no reference into it is ever made.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

/// Asks for huge pages in a mapping.
pub(crate) fn prefer_huge_pages(start: *const u8, len: usize) {
    // SAFETY: The advice changes nothing of what memory holds, whoever's it is. That it fails where
    // there are no huge pages makes no difference but in time.
    unsafe { libc::madvise(start.cast_mut().cast(), len, libc::MADV_HUGEPAGE) };
}

/// Gives shared memory back: it is zeroes, and has to be allocated, when it is used next.
pub(crate) fn give_back(start: *const u8, len: usize) -> io::Result<()> {
    // SAFETY: What is in a guest's memory may change at any time for all who use it, and the mapping
    // stays.
    check(unsafe { libc::madvise(start.cast_mut().cast(), len, libc::MADV_REMOVE) }).map(drop)
}

/// Waits until one of the descriptors can be read, for `timeout_ms` at most.
pub(crate) fn wait_readable<const N: usize>(fds: [RawFd; N], timeout_ms: i32) -> io::Result<bool> {
    let mut polled = fds.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    loop {
        // SAFETY: The array is valid for reads and writes, and as long as is said.
        let n = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, timeout_ms) };
        match check(n) {
            Ok(n) => return Ok(n > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
