export const value = 'exported';
