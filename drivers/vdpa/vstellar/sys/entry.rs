// SPDX-License-Identifier: GPL-2.0

//! What the vDPA bus calls, by way of the C half. Each function is one operation of the bus.
//!
//! Where nothing else is said: called by the C half only, in process context, with the pointer that
//! `vstellar_device_new` returned and before `vstellar_device_free`.

use super::{
    area::{
        Area,
        KernelMemory, //
    },
    bindings::{
        vstellar_area,
        vstellar_callback,
        vstellar_vdpa, //
    },
    vdpa::{
        Callback,
        Vdpa, //
    },
};
use crate::{
    device::{
        self,
        Device, //
    },
    model::{
        access::Access,
        span::Span, //
    }, //
};
use core::{
    pin::Pin,
    ptr::NonNull, //
};
use kernel::{
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*,
    types::ForeignOwnable, //
};

/// Borrows a device.
///
/// # Safety
///
/// `device` is from `vstellar_device_new` and is not freed while `'a` lasts.
pub(super) unsafe fn borrow<'a>(device: *mut c_void) -> Pin<&'a Device> {
    // SAFETY: By the function's requirements.
    unsafe { <Pin<KBox<Device>> as ForeignOwnable>::borrow(device) }
}

pub(super) fn errno(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}

#[no_mangle]
extern "C" fn vstellar_features() -> u64 {
    device::FEATURES
}

/// The Rust half of a device, or null and what is wrong.
///
/// # Safety
///
/// `err` is valid for a write, and `vs` stays until after `vstellar_device_free`.
#[no_mangle]
unsafe extern "C" fn vstellar_device_new(
    vs: *mut vstellar_vdpa,
    wanted: u64,
    err: *mut c_int,
) -> *mut c_void {
    let result = NonNull::new(vs).ok_or(EINVAL).and_then(|vs| {
        // SAFETY: By the function's requirements; it is part of the device.
        Device::new(unsafe { Vdpa::new(vs) }, wanted)
    });
    match result {
        Ok(device) => device.into_foreign(),
        Err(error) => {
            // SAFETY: By the function's requirements.
            unsafe { *err = error.to_errno() };
            core::ptr::null_mut()
        }
    }
}

/// Its end.
///
/// # Safety
///
/// See the module; the last call for this device.
#[no_mangle]
unsafe extern "C" fn vstellar_device_free(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    drop(unsafe { <Pin<KBox<Device>> as ForeignOwnable>::from_foreign(device) });
}

/// A round of its work.
///
/// # Safety
///
/// See the module; never on two CPUs at a time.
#[no_mangle]
unsafe extern "C" fn vstellar_device_work(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.work();
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_set_vq_address(
    device: *mut c_void,
    index: u16,
    desc: u64,
    avail: u64,
    used: u64,
) -> c_int {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    let result = device.with_queue(index, |queue| queue.set_addresses(desc, avail, used));
    errno(result.and_then(|set| set))
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_set_vq_num(device: *mut c_void, index: u16, num: u32) {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    // The bus has no queue but those there are.
    let _ = device.with_queue(index, |queue| queue.set_size(num));
}

/// # Safety
///
/// See the module; `callback` is valid for a read, and what it names as [`Callback`] says.
#[no_mangle]
unsafe extern "C" fn vstellar_set_vq_callback(
    device: *mut c_void,
    index: u16,
    callback: *const vstellar_callback,
) {
    // SAFETY: By the function's requirements.
    let (device, callback) = unsafe { (borrow(device), Callback::new(*callback)) };
    let _ = device.with_queue(index, |queue| queue.set_callback(callback));
}

/// # Safety
///
/// See the module; the queue's callback is not called any more once it is not ready.
#[no_mangle]
unsafe extern "C" fn vstellar_set_vq_ready(device: *mut c_void, index: u16, ready: bool) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.set_queue_ready(index, ready);
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_get_vq_ready(device: *mut c_void, index: u16) -> bool {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    device
        .with_queue(index, |queue| queue.ready())
        .unwrap_or(false)
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_set_vq_state(
    device: *mut c_void,
    index: u16,
    next_avail: u16,
) -> c_int {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    errno(device.with_queue(index, |queue| queue.set_taken(next_avail)))
}

/// # Safety
///
/// See the module; `next_avail` is valid for a write.
#[no_mangle]
unsafe extern "C" fn vstellar_get_vq_state(
    device: *mut c_void,
    index: u16,
    next_avail: *mut u16,
) -> c_int {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    errno(
        device
            .with_queue(index, |queue| queue.taken())
            .map(|value| {
                // SAFETY: By the function's requirements.
                unsafe { *next_avail = value }
            }),
    )
}

#[no_mangle]
extern "C" fn vstellar_get_vq_size(index: u16) -> u16 {
    device::usual_size(index)
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_get_device_features(device: *mut c_void) -> u64 {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.offered()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_set_driver_features(device: *mut c_void, features: u64) -> c_int {
    // SAFETY: By the function's requirements.
    errno(unsafe { borrow(device) }.set_features(features))
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_get_driver_features(device: *mut c_void) -> u64 {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.features()
}

/// # Safety
///
/// See the module; `callback` is valid for a read, and what it names as [`Callback`] says.
#[no_mangle]
unsafe extern "C" fn vstellar_set_config_callback(
    device: *mut c_void,
    callback: *const vstellar_callback,
) {
    // SAFETY: By the function's requirements.
    let (device, callback) = unsafe { (borrow(device), Callback::new(*callback)) };
    device.set_config_callback(callback);
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_get_status(device: *mut c_void) -> u8 {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.status()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_set_status(device: *mut c_void, status: u8) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.set_status(status);
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_reset(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.reset();
}

/// # Safety
///
/// See the module; after the last driver of the device.
#[no_mangle]
unsafe extern "C" fn vstellar_remove(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.remove();
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_suspend(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.suspend();
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_resume(device: *mut c_void) {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.resume();
}

#[no_mangle]
extern "C" fn vstellar_get_config_size() -> usize {
    device::CONFIG_SIZE
}

/// # Safety
///
/// See the module; `buf` is valid for a write of `len` bytes.
#[no_mangle]
unsafe extern "C" fn vstellar_get_config(
    device: *mut c_void,
    offset: usize,
    buf: *mut u8,
    len: usize,
) {
    // SAFETY: By the function's requirements.
    let space = unsafe { borrow(device) }.config();
    let part = space.get(offset..).unwrap_or(&[]);
    let n = part.len().min(len);
    // SAFETY: `buf` has room for `len` bytes, of which `n` come from `part`, which is as long; what is
    // beyond the end reads as zeros.
    unsafe {
        buf.copy_from_nonoverlapping(part.as_ptr(), n);
        buf.add(n).write_bytes(0, len - n);
    }
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_get_generation(device: *mut c_void) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { borrow(device) }.generation()
}

fn access(read: bool, write: bool) -> Result<Access> {
    match (read, write) {
        (true, true) => Ok(Access::READ_WRITE),
        (true, false) => Ok(Access::READ),
        (false, true) => Ok(Access::WRITE),
        (false, false) => Err(EINVAL),
    }
}

/// # Safety
///
/// See the module; gives away a reference to `area`.
#[no_mangle]
unsafe extern "C" fn vstellar_map_area(
    device: *mut c_void,
    iova: u64,
    size: u64,
    read: bool,
    write: bool,
    area: *mut vstellar_area,
) -> c_int {
    let Some(area) = NonNull::new(area) else {
        return EINVAL.to_errno();
    };
    // SAFETY: By the function's requirements.
    let (device, area) = unsafe { (borrow(device), Area::from_raw(area)) };
    errno(access(read, write).and_then(|access| {
        let span = Span::new(iova, size).ok_or(EINVAL)?;
        device.map_area(span, access, area)
    }))
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_unmap_area(device: *mut c_void, iova: u64, size: u64) {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    if let Some(span) = Span::new(iova, size) {
        device.unmap_area(span);
    }
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vstellar_map_prepare(device: *mut c_void) -> c_int {
    // SAFETY: By the function's requirements.
    errno(unsafe { borrow(device) }.prepare_driver())
}

/// # Safety
///
/// See the module, but any context; `iova` is valid for a write. The memory is as [`KernelMemory`]
/// says.
#[no_mangle]
unsafe extern "C" fn vstellar_map_kernel(
    device: *mut c_void,
    phys: u64,
    size: u64,
    read: bool,
    write: bool,
    iova: *mut u64,
) -> c_int {
    // SAFETY: By the function's requirements.
    let (device, memory) = unsafe { (borrow(device), KernelMemory::new(phys)) };
    let mapped =
        access(read, write).and_then(|access| device.platform().map_kernel(memory, size, access));
    errno(mapped.map(|address| {
        // SAFETY: By the function's requirements.
        unsafe { *iova = address }
    }))
}

/// # Safety
///
/// See the module, but any context.
#[no_mangle]
unsafe extern "C" fn vstellar_unmap_kernel(device: *mut c_void, iova: u64, size: u64) {
    // SAFETY: By the function's requirements.
    let device = unsafe { borrow(device) };
    if let Some(span) = Span::new(iova, size) {
        device.platform().unmap_kernel(span);
    }
}
