internal import Glibc

/// The ends of a pipe. A process that is started has neither, unless one becomes a stream of it.
struct PipeEnds {
    let reading: Int32
    let writing: Int32

    /// Makes a pipe.
    ///
    /// - Parameter failure: what cannot be done without it.
    init(orFail failure: String) throws(CommandError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw .system(failure, code: errno) }
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
    }

    /// Makes several pipes, or none.
    static func make(_ count: Int, orFail failure: String) throws(CommandError) -> [PipeEnds] {
        var made: [PipeEnds] = []
        for _ in 0..<count {
            do throws(CommandError) { made.append(try PipeEnds(orFail: failure)) } catch {
                made.forEach { $0.closeBoth() }
                throw error
            }
        }
        return made
    }

    func closeBoth() {
        close(reading)
        close(writing)
    }
}
