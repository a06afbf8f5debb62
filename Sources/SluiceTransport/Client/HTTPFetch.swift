import Glibc

/// Fetches small documents over HTTPS: a GET without redirections, cookies and caches.
package enum HTTPFetch {
    /// How a document is fetched.
    package struct Options: Hashable, Sendable {
        /// Which certificates are accepted.
        package var trust = TLSTrust.systemAuthorities
        /// Where ``trust`` is configured, for messages.
        package var trustSetting = "the client's trust"
        /// The longest time for everything: name, TCP, TLS, request and answer.
        package var timeout = Duration.seconds(5)
        /// The longest document in bytes.
        package var byteCountMax = 1 << 18

        package init() {}
    }

    package typealias Completion = @Sendable (Result<[UInt8], TransportError>) -> Void

    /// Begins to fetch a document, and returns at once.
    ///
    /// - Parameters:
    ///   - url: an `https` URL.
    ///   - loop: serves the connection.
    ///   - completion: called once on the loop, with the body of an answer with status 200.
    /// - Throws: when the URL is none with `https`, or when the certificates cannot be read.
    package static func get(
        _ url: String, options: Options = Options(), loop: EventLoop, completion: @escaping Completion
    ) throws(TransportError) {
        let task = try FetchTask(url, options: options, loop: loop, completion: completion)
        loop.execute { task.start() }
    }

    /// The place that an `https` URL names.
    ///
    /// - Throws: `invalidURL`.
    package static func endpoint(_ url: String) throws(TransportError) -> Endpoint {
        guard url.hasPrefix("https://"), let endpoint = try? Endpoint("wss://" + url.dropFirst(8)) else {
            throw TransportError(.invalidURL, "\"\(url)\" is not a URL like https://HOST/PATH")
        }
        return endpoint
    }
}

/// One document that is being fetched.
private final class FetchTask: PollHandler, @unchecked Sendable {  // Kept to the loop's thread after `init`.
    private let endpoint: Endpoint
    private let url: String
    private let options: HTTPFetch.Options
    private let loop: EventLoop
    private let tls: TLSContext
    private var completion: HTTPFetch.Completion?
    private var connector: TCPConnector?
    private var channel: SocketChannel?
    private var isSecured = false
    private var output = SendQueue()
    private var response: HTTPResponseReader
    private var timer: UInt64?

    init(
        _ url: String, options: HTTPFetch.Options, loop: EventLoop, completion: @escaping HTTPFetch.Completion
    ) throws(TransportError) {
        endpoint = try HTTPFetch.endpoint(url)
        self.url = url
        self.options = options
        self.loop = loop
        self.completion = completion
        tls = try TLSContext(trust: options.trust, setting: options.trustSetting)
        response = HTTPResponseReader(byteCountMax: options.byteCountMax)
    }

    override func loopWillStop() { finish(.failure(TransportError(.aborted, "the event loop ended"))) }

    func start() {
        timer = loop.schedule(after: options.timeout) { [self] in
            timer = nil
            finish(.failure(TransportError(.timedOut, "\(url) gave no answer within \(options.timeout)")))
        }
        Resolver.resolve(endpoint.host, port: endpoint.port, on: loop) { [self] answer in
            guard completion != nil else { return }
            switch answer {
            case .failure(let error): finish(.failure(error))
            case .success(let addresses):
                let connector = TCPConnector(addresses, interface: nil, loop: loop) { [self] result in
                    self.connector = nil
                    switch result {
                    case .success(let socket): connected(socket)
                    case .failure(let error): finish(.failure(error))
                    }
                }
                self.connector = connector
                connector.start()
            }
        }
    }

    private func connected(_ socket: Int32) {
        guard completion != nil else { return Socket.close(socket) }
        do throws(TransportError) {
            let session = try TLSSession(tls, descriptor: socket, host: endpoint.host, peer: endpoint.authority)
            channel = try SocketChannel(socket, tls: session, loop: loop, handler: self)
        } catch {
            Socket.close(socket)
            return finish(.failure(error))
        }
        let request =
            "GET \(endpoint.target) HTTP/1.1\r\nHost: \(endpoint.authority)\r\nAccept: application/json\r\n"
            + "Accept-Encoding: identity\r\nUser-Agent: sluice\r\nConnection: close\r\n\r\n"
        output.append(SharedBuffer(Array(request.utf8)))
        serve()
    }

    override func ready(_ readiness: PollEvents) { serve() }

    private func serve() {
        guard completion != nil else { return }
        if !isSecured {
            switch channel?.handshake() {
            case .done: isSecured = true
            case .failed(let error): return finish(.failure(error))
            case .wantsRead, .wantsWrite, nil: return
            }
        }
        do throws(TransportError) {
            _ = try channel?.write(&output)
        } catch {
            return finish(.failure(error))
        }
        let room = UnsafeMutableRawBufferPointer(rebasing: loop.scratch[..<min(loop.scratch.count, 16_384)])
        while let result = channel?.read(into: room) {
            switch result {
            case .bytes(let count):
                if let result = response.receive(UnsafeRawBufferPointer(rebasing: room[..<count])) {
                    return finish(result.mapError(named))
                }
            case .end: return finish(response.end().mapError(named))
            case .failed(let error): return finish(.failure(error))
            case .wouldBlock:
                channel?.watch(reads: true)
                return
            }
        }
    }

    private func named(_ error: TransportError) -> TransportError {
        TransportError(error.code, "\(url): \(error.message)")
    }

    private func finish(_ result: Result<[UInt8], TransportError>) {
        guard let completion else { return }
        self.completion = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        connector?.cancel()
        connector = nil
        channel.take()?.close()
        completion(result)
    }
}
