//! What both objects declare to the kernel, and what a panic would be if one could be reached.

#[allow(unsafe_code, reason = "the kernel reads the licence from a section of this name")]
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
