/** Whether this page is shown inside another application; its session is one of its own then. */
export const isEmbedded = location.pathname.startsWith("/embed/");
