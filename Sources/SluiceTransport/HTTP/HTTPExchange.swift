internal import Synchronization

/// Where an answer goes, on any thread.
package protocol HTTPOutput: AnyObject, Sendable {
    /// Sends bytes after those sent before. Does nothing after ``endAnswer()``, or when the peer is gone.
    func sendAnswer(_ bytes: [UInt8])
    /// Says that the answer is being made, so that its peer waits for longer.
    func noteWork()
    /// Says that the answer is whole, so that the connection is closed after it.
    func endAnswer()
    /// Ends the connection at once, so that the peer sees that the answer is not whole.
    func abortAnswer()
    /// Whether so much waits for the peer that no more should be sent. ``HTTPExchange/didDrain()`` says when that ends.
    var isAnswerHeldUp: Bool { get }
}

/// A request, and its answer: whole, or in pieces as they come. Any thread may use it, later than it was made.
///
/// An exchange that is forgotten without an answer answers with status 500; one that is forgotten within an answer cuts
/// it off.
package final class HTTPExchange: Sendable {
    /// | state | event | next |
    /// |---|---|---|
    /// | waiting | respond | ended |
    /// | waiting | begin | streaming; ended if the request is `HEAD` |
    /// | streaming | end, abort | ended |
    /// | any | the connection ends | ended |
    private enum State {
        case waiting
        /// The head was sent. The continuation waits until the peer has taken enough.
        case streaming(isChunked: Bool)
        case ended
    }

    private struct Progress {
        var state = State.waiting
        var waiting: CheckedContinuation<Void, Never>?
    }

    package let request: HTTPRequest
    package let body: [UInt8]
    /// The other side's address.
    package let peerDescription: String
    /// The user of this machine who asks by a socket that is a file; nil elsewhere.
    package let peerUser: UInt32?
    private let output: any HTTPOutput
    private let progress = Mutex(Progress())

    /// - Parameters:
    ///   - output: where the answer goes.
    ///   - peer: the other side's address.
    ///   - user: the user of this machine on the other side; nil if that is not known.
    package init(
        _ request: HTTPRequest, body: [UInt8], to output: any HTTPOutput, from peer: String = "",
        of user: UInt32? = nil
    ) {
        peerDescription = peer
        peerUser = user
        self.request = request
        self.body = body
        self.output = output
    }

    deinit {
        switch progress.withLock({ $0.state }) {
        case .waiting: respond(HTTPResponse(status: 500, text: "the request was not answered"))
        case .streaming: output.abortAnswer()
        case .ended: break
        }
    }

    /// Answers with a response that is there as a whole. Does nothing if the request was answered, or its peer is gone.
    package func respond(_ response: HTTPResponse) {
        let isFirst = progress.withLock { progress in
            guard case .waiting = progress.state else { return false }
            progress.state = .ended
            return true
        }
        guard isFirst else { return }
        output.sendAnswer(response.encoded(includesBody: request.method != "HEAD"))
        output.endAnswer()
    }

    /// Begins an answer whose length is not known yet. What follows is given to ``write(_:)`` and ``end()``.
    ///
    /// - Returns: false if nothing follows: the request is `HEAD` or was answered, or its peer is gone.
    @discardableResult
    package func begin(status: Int, _ headers: HTTPHeaders) -> Bool {
        let isChunked = request.version == .http11
        let isHead = request.method == "HEAD"
        let isFirst = progress.withLock { progress in
            guard case .waiting = progress.state else { return false }
            progress.state = isHead ? .ended : .streaming(isChunked: isChunked)
            return true
        }
        guard isFirst else { return false }
        // Without chunks the answer goes on to the end of the connection.
        output.sendAnswer(HTTPResponse.head(status, headers, isChunked ? ["Transfer-Encoding": "chunked"] : [:]))
        if isHead { output.endAnswer() }
        return !isHead
    }

    /// Says that the answer is being made, though nothing of it can be sent yet: the time in which one must begin begins
    /// anew.
    package func noteWork() { output.noteWork() }

    /// Sends a piece of an answer that was begun, and waits while the peer takes nothing. One task at a time may call it.
    ///
    /// - Returns: whether more may follow; false when the peer is gone.
    package func write(_ piece: [UInt8]) async -> Bool {
        guard case .streaming(let isChunked) = progress.withLock({ $0.state }) else { return false }
        // An empty chunk would be the last one.
        if !piece.isEmpty { output.sendAnswer(isChunked ? Self.chunk(piece) : piece) }
        await withCheckedContinuation { continuation in
            let isReady = progress.withLock { progress in
                guard case .streaming = progress.state, output.isAnswerHeldUp else { return true }
                progress.waiting = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        if case .streaming = progress.withLock({ $0.state }) { return true }
        return false
    }

    /// Ends an answer that was begun.
    package func end() {
        guard case .streaming(let isChunked) = endStreaming() else { return }
        if isChunked { output.sendAnswer(Array("0\r\n\r\n".utf8)) }
        output.endAnswer()
    }

    /// Cuts off an answer that was begun, such as when its rest cannot be read. The peer sees that it is not whole.
    package func abort() { if case .streaming = endStreaming() { output.abortAnswer() } }

    private func endStreaming() -> State {
        progress.withLock { progress in
            let state = progress.state
            if case .streaming = state { progress.state = .ended }
            return state
        }
    }

    /// The peer has taken what waited, so that more may be written.
    package func didDrain() {
        progress.withLock { progress in
            defer { progress.waiting = nil }
            return progress.waiting
        }?.resume()
    }

    /// The connection has ended; nobody takes an answer any more.
    package func didEnd() {
        progress.withLock { $0.state = .ended }
        didDrain()
    }

    private static func chunk(_ piece: [UInt8]) -> [UInt8] {
        Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0D, 0x0A]
    }
}
