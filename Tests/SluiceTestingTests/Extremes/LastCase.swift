import Foundation

/// What a batch of cases tries at the moment. Where that ends the process, it is printed, so that the culprit is known.
enum LastCase {
    private static let size = 512
    private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGABRT]

    /// What a signal found that no longer comes here.
    private struct Handlers {
        var former: [Int32: sigaction] = [:]
    }

    nonisolated(unsafe) private static var handlers = Handlers()
    /// The text as the handler of signals reads it, ended by zero.
    nonisolated(unsafe) private static let text: UnsafeMutablePointer<UInt8> = {
        let text = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
        text.initialize(repeating: 0, count: size)
        for signal in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { LastCase.report($0) }
            var former = sigaction()
            sigaction(signal, &action, &former)
            handlers.former[signal] = former
        }
        return text
    }()

    /// Says what is tried next. One batch at a time.
    static func note(_ what: String) {
        let bytes = Array("The last case was: \(what)\n".utf8.prefix(size - 1)) + [0]
        for (index, byte) in bytes.enumerated() { text[index] = byte }
    }

    /// Prints the case, and has the signal come again to whoever was to get it.
    private static func report(_ signal: Int32) {
        var count = 0
        while text[count] != 0 { count += 1 }
        _ = write(2, text, count)
        if var former = handlers.former[signal] { sigaction(signal, &former, nil) }
    }
}
