import Glibc
import SluiceCLI

/// Files of rows, read as `sluice import` reads them.
enum ImportTarget {
    static func run(_ bytes: [UInt8], extension name: String) {
        let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        let path = "\(folder)/sluice-fuzz-\(getpid())-\(pthread_self()).\(name)"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(file >= 0, "\(path) cannot be written")
        defer { unlink(path) }
        precondition(write(file, bytes, bytes.count) == bytes.count, "\(path) cannot be written")
        close(file)
        guard let trial = try? ImportTrial(path: path) else { return }
        precondition(trial.rowCount + trial.badRowCount <= bytes.count + 1)
    }
}
