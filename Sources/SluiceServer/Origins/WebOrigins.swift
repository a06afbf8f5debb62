internal import SluiceTransport
internal import Synchronization

/// Decides which web pages may use a server. A browser says of which page a request is, and pages cannot change that:
/// the header `Origin` has the page's scheme, host and port.
///
/// A page of the server itself may use it, and pages whose origins were named. The server's own origin counts only where
/// the request's `Host` is a name of the server: of a page whose name somebody has made lead to this machine (DNS
/// rebinding), the origin is its own, too.
final class WebOrigins: Sendable {
    private struct State {
        var allowed: Set<String> = []
    }

    /// The host that the server was told to listen at.
    private let host: String
    private let usesTLS: Bool
    private let isLoopback: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - host: the name or address that the server listens at.
    ///   - usesTLS: whether browsers reach it by `https`: it has a certificate, or a proxy adds TLS.
    ///   - allowed: the origins of pages that may use the server besides its own.
    init(host: String, usesTLS: Bool, allowed: [WebOrigin]) {
        self.host = host.lowercased()
        self.usesTLS = usesTLS
        isLoopback = WebSocketServer.isLoopback(host)
        state = Mutex(State(allowed: Set(allowed.map(\.text))))
    }

    /// Replaces the origins that were named.
    func allow(_ origins: [WebOrigin]) { state.withLock { $0.allowed = Set(origins.map(\.text)) } }

    /// Why a connection is refused; nil if it is not.
    func refusal(ofConnection request: HTTPRequest) -> UpgradeDecision? {
        guard request.headers["Origin"] != nil else { return nil }
        guard request.asksForJSON, origin(of: request) != nil else {
            return .reject(status: 403, text: Self.refusal)
        }
        return nil
    }

    static let refusal =
        "this server does not take connections from this web page; --allow-origin=URL names pages that may"

    /// The origin of the page that a request is of, if that may use the server; nil if not, or if no page asks.
    func origin(of request: HTTPRequest) -> String? {
        let given = request.headers.values("Origin")
        guard given.count == 1, let origin = WebOrigin(given[0]) else { return nil }
        if state.withLock({ $0.allowed.contains(origin.text) }) { return origin.text }
        guard isOwnHost(request), let own = ownOrigin(request), own == origin.text else { return nil }
        return origin.text
    }

    /// Whether a request's `Host` is a name that only this server has: an address, this machine's own name for itself, the
    /// name that the server listens at, or the host of a named origin.
    func isOwnHost(_ request: HTTPRequest) -> Bool {
        let hosts = request.headers.values("Host")
        guard hosts.count == 1, let name = WebOrigin.host(ofAuthority: hosts[0]) else { return false }
        if name == "localhost" || WebOrigin.isAddress(name) || name == host { return true }
        let suffix = "://\(hosts[0].lowercased())"
        return state.withLock { $0.allowed.contains { $0.hasSuffix(suffix) } }
    }

    /// Whether a request that no page is known to have made is answered: at a loopback address only one that was made to
    /// a name of the server, and anywhere none that a browser makes to another name.
    func trustsHost(of request: HTTPRequest) -> Bool {
        let isOfBrowser = request.headers["Origin"] != nil || request.headers["Sec-Fetch-Mode"] != nil
        return !(isOfBrowser || isLoopback) || isOwnHost(request)
    }

    private func ownOrigin(_ request: HTTPRequest) -> String? {
        request.headers["Host"].flatMap { WebOrigin("\(usesTLS ? "https" : "http")://\($0)") }?.text
    }
}

extension HTTPRequest {
    /// The subprotocol of the JSON form.
    static let jsonSubprotocol = "sluice.json.1"

    /// Whether an upgrade is to the JSON form, which the server takes where the other one is not offered.
    var asksForJSON: Bool {
        let offered = headers.elements("Sec-WebSocket-Protocol")
        return offered.contains(Self.jsonSubprotocol) && !offered.contains("sluice.1")
    }
}
