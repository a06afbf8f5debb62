internal import SluiceTransport
internal import SluiceWeb

/// `/_/sluice.js`, the module for web pages, and `/_/`, the dashboard, where it is served. Nothing in them is secret: what
/// the dashboard shows comes by a session, whose user needs the right `reports`.
struct StaticPages: Sendable {
    /// What a page of the dashboard may do: its own scripts, styles and connections, and nothing else. Nothing may embed
    /// it, and no text becomes markup (Trusted Types).
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; "
        + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"

    let origins: WebOrigins
    let servesDashboard: Bool

    /// Adds the pages.
    func add(to routes: inout WebRoutes) {
        add(StaticFiles.module, at: "/_/sluice.js", to: &routes)
        guard servesDashboard else { return }
        for file in StaticFiles.dashboard { add(file, at: "/_/\(file.name)", to: &routes) }
        if let index = StaticFiles.dashboard.first(where: { $0.name == "index.html" }) {
            add(index, at: "/_/", to: &routes)
        }
        routes.add("GET", "/_") { exchange in
            exchange.respond(HTTPResponse(status: 302, headers: ["Location": "/_/", "Cache-Control": "no-store"]))
        }
    }

    private func add(_ file: StaticFile, at path: String, to routes: inout WebRoutes) {
        routes.add("GET", path) { exchange in exchange.respond(response(file, to: exchange.request)) }
    }

    private func response(_ file: StaticFile, to request: HTTPRequest) -> HTTPResponse {
        guard origins.trustsHost(of: request) else {
            return HTTPResponse(status: 421, text: "this server has no such name; ask it by its address")
        }
        var headers: HTTPHeaders = [
            "Content-Type": file.type, "ETag": file.tag, "Cache-Control": "no-cache",
            "Content-Security-Policy": Self.policy, "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
        ]
        // Pages of the origins that were named may load the module, and no others.
        if let origin = origins.origin(of: request) {
            headers.append("Access-Control-Allow-Origin", origin)
        }
        headers.append("Vary", "Origin")
        if request.headers.has("If-None-Match", file.tag) { return HTTPResponse(status: 304, headers: headers) }
        return HTTPResponse(status: 200, headers: headers, body: file.bytes)
    }
}
