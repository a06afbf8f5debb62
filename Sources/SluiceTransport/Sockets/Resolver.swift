import Glibc

/// Looks up host names without blocking an event loop.
enum Resolver {
    typealias Answer = Result<[SocketAddress], TransportError>

    /// Finds the addresses of a host and passes them to `completion` on the loop. An IP address needs no lookup; for a
    /// name, a thread of its own asks the system.
    static func resolve(
        _ host: String, port: UInt16, on loop: EventLoop, _ completion: @escaping @Sendable (Answer) -> Void
    ) {
        let numeric = Result { () throws(TransportError) in
            try SocketAddress.resolve(host, port: port, isListening: false, numericOnly: true)
        }
        if case .success = numeric { return loop.execute { completion(numeric) } }

        let work = Work {
            let answer = Result { () throws(TransportError) in
                try SocketAddress.resolve(host, port: port, isListening: false)
            }
            loop.execute { completion(answer) }
        }
        var thread = pthread_t()
        // The thread releases it, or this function where there is no thread.
        let context = Unmanaged.passRetained(work)
        let result = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard result == 0 else {
            context.release()
            return loop.execute { completion(.failure(.system(result, "start a thread to look up \"\(host)\""))) }
        }
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
