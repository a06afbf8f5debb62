import Foundation
import Glibc
package import Testing

/// A file system of a few megabytes, to be filled or made read-only.
package final class SmallDisk {
    package let path: String
    private var filler: String { path + "/filler" }

    /// Whether this process may mount file systems.
    fileprivate static let isPossible = SmallDisk(byteCount: 1 << 16) != nil

    /// Mounts a file system in memory; nil where this process may not. Tests that need one are `.onSmallDisk`.
    package init?(byteCount: Int = 24 << 20) {
        path = NSTemporaryDirectory() + "sluice-disk-" + UUID().uuidString
        mkdir(path, 0o700)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Takes all the room there is.
    package func fill() {
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        for size in [1 << 16, 1 << 12, 1] {
            let bytes = [UInt8](repeating: 1, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
    }

    /// Gives back what ``fill()`` took.
    package func clear() {
        // A process that is being started may hold a copy of the descriptor.
        truncate(filler, 0)
        unlink(filler)
    }

    /// Makes the file system read-only or writable; no file on it may be open for writing then.
    ///
    /// - Returns: whether the system did.
    package func remount(isReadOnly: Bool) -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0), nil) == 0
    }
}

extension Trait where Self == ConditionTrait {
    /// The test needs a ``SmallDisk``, and is listed as skipped where this process may not mount one.
    package static var onSmallDisk: Self {
        .enabled(if: SmallDisk.isPossible, "this process may not mount a file system")
    }
}
