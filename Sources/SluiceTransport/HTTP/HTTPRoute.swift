/// What a server does with a request that is none for an upgrade. It is decided by the head, before a body is read.
package enum HTTPRoute: Sendable {
    /// Sends this response, and reads no body.
    case respond(HTTPResponse)
    /// Reads the body, and has the request answered.
    ///
    /// - Parameters:
    ///   - bodyByteCountMax: the longest body; a longer one is refused with 413, at once if its head says so. 0 takes
    ///     none.
    ///   - answer: called on the event loop once the body is whole. It must not block; it may answer later, from any
    ///     thread.
    case take(bodyByteCountMax: Int, answer: @Sendable (HTTPExchange) -> Void)

    /// What is done where nothing has the path.
    package static let notFound = HTTPRoute.respond(HTTPResponse(status: 404, text: "there is nothing at this path"))
}
