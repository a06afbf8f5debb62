import Foundation
import Glibc

/// Finds the servers of other kinds that run beside the benchmarks.
enum Peers {
    /// The peers of a run, each checked for what it must do to be compared.
    ///
    /// - Parameter folder: a folder of the run. The peers' files must be on its file system.
    /// - Throws: ``BenchmarkError`` where one is missing, or does not sync.
    static func all(besides folder: String) throws -> [any Peer] {
        #if PostgreSQL
            let environment = ProcessInfo.processInfo.environment
            guard let url = environment["SLUICE_JOURNAL"], let postgresFolder = environment["SLUICE_FOLDER"],
                let port = environment["SLUICE_REDIS_PORT"].flatMap({ UInt16($0) }),
                let redisFolder = environment["SLUICE_REDIS_FOLDER"]
            else { throw BenchmarkError("--peers needs a PostgreSQL and a Redis; run `make bench PEERS=1`") }
            for (name, path) in [("PostgreSQL", postgresFolder), ("Redis", redisFolder)] {
                guard try device(of: path) == device(of: folder) else {
                    throw BenchmarkError(
                        "the files of \(name) in \(path) are not on the file system of \(folder), so a sync there says "
                            + "nothing about one here; set TMPDIR to a folder of it that the user postgres may enter")
                }
            }
            return [try PostgresPeer(url: url), try RedisPeer(port: port)]
        #else
            throw BenchmarkError("--peers needs a program that was built with libpq; run `make bench PEERS=1`")
        #endif
    }

    private static func device(of path: String) throws -> dev_t {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw BenchmarkError("\(path) cannot be looked at: \(String(cString: strerror(errno)))")
        }
        return status.st_dev
    }
}
