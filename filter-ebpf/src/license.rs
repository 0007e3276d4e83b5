//! The licence that every object declares to the kernel, and a panic handler that is never reached.

#[allow(unsafe_code, reason = "the kernel reads the licence from a section of this name")]
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
